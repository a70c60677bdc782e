output "bootstrap" {
  description = "Addresses of Kafka for its users (SCRAM)."
  value       = aws_msk_cluster.log.bootstrap_brokers_sasl_scram
}

output "log" {
  description = "For targets/aws_log: addresses by which topic and rights are made (IAM), the topic that the load needs, and the policy of who may do that."
  value = {
    bootstrap = split(",", aws_msk_cluster.log.bootstrap_brokers_sasl_iam)
    topic     = module.sizing.topic
    policy    = aws_iam_policy.log_maker.arn
  }
}

output "postgres" {
  description = "Host name of Postgres."
  value       = aws_db_instance.rows.address
}

output "store" {
  description = "places.store of the installation."
  value       = "s3a://${aws_s3_bucket.store.bucket}/store?region=${var.region}"
}

output "made" {
  description = "How much of it the load needs."
  value = {
    brokers        = local.brokers
    broker_disk_gb = local.broker_disk_gb
    workers        = local.workers
    database_gb    = max(20, module.sizing.disk_gb.rows)
  }
}
