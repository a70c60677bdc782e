# Topic, rights and quotas of MSK. Its users are made by targets/aws: MSK takes them from Secrets Manager only.

module "kafka_access" {
  source = "../../modules/kafka_access"

  topic      = var.topic
  make_users = false
  quotas     = var.quotas
}
