output "topic" {
  description = "The log's topic."
  value       = module.kafka_access.topic
}
