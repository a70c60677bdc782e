output "topic" {
  description = "For kafka_access: partitions with room to grow, and hours that a record is kept."
  value = {
    partitions         = local.partitions
    retention_hours    = ceil(var.retention_days * 24)
    replication_factor = local.copies
  }
}

output "brokers" {
  description = "Brokers, each with two cores and 4 GB, and the disk of one."
  value       = { count = local.brokers, disk_gb = ceil(local.log_disk_gb / local.brokers) }
}

output "job" {
  description = "Of each job with state: cores that do its work, partitions of its state, what its state weighs."
  value = {
    cores            = local.job_cores
    state_partitions = min(64, max(2, local.job_cores))
    state_events     = local.state_events
    state_gb         = local.state_gb
  }
}

output "workers" {
  description = "What Spark's workers offer in all, with a standby and a replay beside each job."
  value       = { cores = local.spark_cores, memory_gb = local.spark_memory_gb }
}

output "disk_gb" {
  description = "Disk in all: the log with its copies, the shared folder, a year of served rows."
  value       = { log = ceil(local.log_disk_gb), shared = ceil(local.shared_gb), rows = ceil(local.rows_gb), all = local.disk_gb }
}

output "monthly" {
  description = "On paper, in the currency of the prices."
  value       = { cores = local.cores, memory_gb = local.memory_gb, disk_gb = local.disk_gb, sum = ceil(local.monthly) }
}
