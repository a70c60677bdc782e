# From three numbers that a person knows to partitions, disk, state, cores, brokers and a monthly sum. Each step, and
# where the measured figures come from, is in docs/sizing.md.

locals {
  # Measured.
  record_bytes          = 250   # of a record in the log, on one broker's disk
  state_bytes_per_event = 60    # of an event in the newest version of a job's state
  kept_bytes_per_event  = 150   # of an event in all that a checkpoint keeps: older versions, and what batches changed
  records_per_core      = 12000 # that one job catches up in a second on one core, beside all else
  row_bytes             = 300   # of a served row with its index and what its updates leave behind

  # Decided.
  giga          = 1000000000
  jobs          = 2        # with state: ad_ctr, client_spend
  headroom      = 3        # an outage of an hour in the busiest hour is caught up in half of one
  fill          = 0.7      # a disk is never fuller
  copies        = 3        # of each record, on three brokers
  generations   = 3        # a checkpoint, the one before it, and the copy that a rescale makes
  broker_bytes  = 20000000 # a broker takes and gives so much in a second on two cores
  broker_disk   = 4000     # GB, the largest disk of a broker
  state_minutes = 6        # a window, the future bound: the state is kept so much longer than the lateness

  peak_events = var.events_per_second * var.peak

  job_cores  = max(1, ceil(local.peak_events * local.headroom / local.records_per_core))
  partitions = max(6, ceil(local.job_cores * var.growth / 3) * 3)

  log_gb       = var.events_per_second * 86400 * var.retention_days * local.record_bytes / local.giga
  log_disk_gb  = local.log_gb * local.copies / local.fill
  state_events = local.peak_events * 60 * (var.lateness_minutes + local.state_minutes)
  state_gb     = local.state_events * local.state_bytes_per_event / local.giga
  kept_gb      = local.state_events * local.kept_bytes_per_event / local.giga
  shared_gb    = local.kept_gb * local.jobs * local.generations / local.fill
  rows_gb      = var.ads * 60 * 24 * 365 * local.row_bytes / local.giga / local.fill

  broker_load = local.peak_events * local.record_bytes * (local.copies + local.jobs + 1)
  by_load     = ceil(local.broker_load / local.broker_bytes)
  by_disk     = ceil(local.log_disk_gb / local.broker_disk)
  wanted      = max(3, local.by_load, local.by_disk)
  brokers     = local.wanted % 2 == 1 ? local.wanted : local.wanted + 1

  # A driver that stands by, and a candidate that a replay makes, run beside each job: as much again.
  spark_cores     = local.job_cores * local.jobs * 2
  spark_memory_gb = ceil(local.jobs * 2 * (1.5 + local.state_gb / 2))
  others_cores    = 2 + 2 + 4 # Spark's master, Postgres, Airflow
  others_memory   = 2 + 8 + 8

  cores     = local.spark_cores + local.brokers * 2 + local.others_cores
  memory_gb = local.spark_memory_gb + local.brokers * 4 + local.others_memory
  disk_gb   = ceil(local.log_disk_gb + local.shared_gb + local.rows_gb)
  monthly   = local.cores * var.prices.core + local.memory_gb * var.prices.memory_gb + local.disk_gb * var.prices.disk_gb
}
