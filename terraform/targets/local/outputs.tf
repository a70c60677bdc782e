output "topic" {
  description = "The log's topic."
  value       = module.kafka_access.topic
}

output "users" {
  description = "The users that exist."
  value       = module.kafka_access.users
}
