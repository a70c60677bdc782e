# The log: brokers, and who signs in. Topic and rights are made by targets/aws_log, from within the network.

resource "aws_msk_configuration" "log" {
  name           = var.name
  kafka_versions = [var.kafka_version]
  # Nobody may do anything that no right says; whoever makes the rights signs in by IAM, which these do not bind.
  server_properties = <<-EOT
    allow.everyone.if.no.acl.found=false
    auto.create.topics.enable=false
    default.replication.factor=3
    min.insync.replicas=2
    offsets.topic.replication.factor=3
    transaction.state.log.min.isr=2
    transaction.state.log.replication.factor=3
    unclean.leader.election.enable=false
  EOT

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_msk_cluster" "log" {
  cluster_name           = var.name
  kafka_version          = var.kafka_version
  number_of_broker_nodes = local.brokers

  broker_node_group_info {
    instance_type   = "kafka.m7g.large"
    client_subnets  = aws_subnet.private[*].id
    security_groups = [aws_security_group.part["kafka"].id]

    storage_info {
      ebs_storage_info {
        volume_size = local.broker_disk_gb
      }
    }
  }

  client_authentication {
    sasl {
      scram = true
      iam   = true
    }
  }

  encryption_info {
    encryption_at_rest_kms_key_arn = aws_kms_key.data.arn

    encryption_in_transit {
      client_broker = "TLS"
      in_cluster    = true
    }
  }

  configuration_info {
    arn      = aws_msk_configuration.log.arn
    revision = aws_msk_configuration.log.latest_revision
  }

  logging_info {
    broker_logs {
      cloudwatch_logs {
        enabled   = true
        log_group = aws_cloudwatch_log_group.kafka.name
      }
    }
  }

  lifecycle {
    # The log is the truth: all numbers can be computed from it, and it from nothing.
    prevent_destroy = true
  }
}

resource "aws_cloudwatch_log_group" "kafka" {
  name              = "/${var.name}/kafka"
  retention_in_days = 365
  kms_key_id        = aws_kms_key.data.arn
}

# MSK knows a user by a secret whose name begins so, under a key that is not AWS's own.
resource "aws_secretsmanager_secret" "kafka_user" {
  # checkov:skip=CKV2_AWS_57:whoever made the file makes a new one, and applies
  for_each = local.kafka_users

  name                    = "AmazonMSK_${var.name}_${each.key}"
  description             = "${each.key}, of Kafka"
  kms_key_id              = aws_kms_key.data.arn
  recovery_window_in_days = var.keep ? 30 : 0
}

resource "aws_secretsmanager_secret_version" "kafka_user" {
  for_each = local.kafka_users

  secret_id = aws_secretsmanager_secret.kafka_user[each.key].id
  secret_string_wo = jsonencode({
    for line in split("\n", file("${var.secrets}/${each.key}.properties")) :
    split("=", line)[0] == "sasl.username" ? "username" : "password" => join("=", slice(split("=", line), 1, length(split("=", line))))
    if startswith(line, "sasl.username=") || startswith(line, "sasl.password=")
  })
  secret_string_wo_version = local.versions["${each.key}.properties"]
}

resource "aws_msk_scram_secret_association" "users" {
  cluster_arn     = aws_msk_cluster.log.arn
  secret_arn_list = [for user in sort(local.kafka_users) : aws_secretsmanager_secret.kafka_user[user].arn]
  depends_on      = [aws_secretsmanager_secret_version.kafka_user]
}
