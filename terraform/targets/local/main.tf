# Topic, users, rights and quotas of a Kafka that runs, the embedded one or another.

locals {
  users = ["kafka_producer", "kafka_stream", "kafka_control", "kafka_reader", "kafka_admin"]
  held = {
    for user in local.users : user => {
      for line in split("\n", file("${var.secrets}/${user}.properties")) :
      split("=", line)[0] => join("=", slice(split("=", line), 1, length(split("=", line)))) if strcontains(line, "=")
    }
  }
  admin = {
    mechanism = lookup({ PLAIN = "plain", SCRAM-SHA-512 = "scram-sha512" }, local.held["kafka_admin"]["sasl.mechanism"], "unknown")
    username  = local.held["kafka_admin"]["sasl.username"]
    password  = local.held["kafka_admin"]["sasl.password"]
  }
}

import {
  for_each = var.adopt ? toset([var.topic.name]) : toset([])
  to       = module.kafka_access.kafka_topic.log
  id       = each.value
}

module "kafka_access" {
  source = "../../modules/kafka_access"

  topic             = var.topic
  passwords         = { for user, lines in local.held : user => lines["sasl.password"] if user != "kafka_admin" }
  password_versions = var.password_versions
  quotas            = var.quotas
}
