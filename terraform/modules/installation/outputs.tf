output "units" {
  description = "By host, the unit files to enable."
  value = { for name in keys(var.hosts) : name => sort([
    for file in keys(local.files) : split("/", file)[1] if startswith(file, "${name}/") && endswith(file, ".service")
  ]) }
}

output "bootstrap" {
  description = "Addresses of Kafka, for targets/local."
  value       = split(",", local.kafka.bootstrap)
}

output "replication_factor" {
  description = "Copies of each record that there are brokers for, three at most."
  value       = local.copies
}

output "files" {
  description = "HOST/FILE: its text. No secret is in any."
  value       = local.files
}
