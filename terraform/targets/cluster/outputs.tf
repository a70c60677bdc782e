output "units" {
  description = "By host, the unit files to enable."
  value       = module.installation.units
}

output "bootstrap" {
  description = "Addresses of Kafka, for targets/local."
  value       = module.installation.bootstrap
}

output "replication_factor" {
  description = "Copies of each record, for targets/local."
  value       = module.installation.replication_factor
}
