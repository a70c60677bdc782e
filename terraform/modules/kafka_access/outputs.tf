output "topic" {
  description = "The log's topic."
  value       = kafka_topic.log.name
}

output "users" {
  description = "The users that were made here."
  value       = sort([for user in kafka_user_scram_credential.user : user.username])
}
