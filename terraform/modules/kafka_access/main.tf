# The log's topic, the users of Kafka, what each of them may do, and how fast.

locals {
  rights = jsondecode(file("${path.module}/access.json"))

  on_topic = [
    for user, operations in local.rights.topic : [
      for operation in operations : { user = user, type = "Topic", name = var.topic.name, operation = operation }
    ]
  ]
  on_groups = [
    for user, operations in local.rights.groups : [
      for operation in operations : { user = user, type = "Group", name = "*", operation = operation }
    ]
  ]
  allowed = {
    for right in flatten([local.on_topic, local.on_groups]) : "${right.user}/${right.type}/${right.operation}" => merge(
      # DESCRIBE_CONFIGS, as Kafka calls it, is DescribeConfigs to the provider.
      right, { operation = join("", [for word in split("_", right.operation) : title(lower(word))]) }
    )
  }
}

resource "kafka_topic" "log" {
  name               = var.topic.name
  partitions         = var.topic.partitions
  replication_factor = var.topic.replication_factor
  config = {
    # The broker stamps each record, so that no producer can choose when it came (docs/contract.md, section 1).
    "message.timestamp.type" = "LogAppendTime"
    "retention.ms"           = tostring(var.topic.retention_hours * 3600000)
  }

  lifecycle {
    # The log is the truth: all numbers can be computed from it, and it from nothing.
    prevent_destroy = true
    # The number is fixed for the topic's life; the provider would add some, and keys would move.
    ignore_changes = [partitions]

    postcondition {
      condition     = self.partitions == var.topic.partitions
      error_message = "topic '${self.name}' has ${self.partitions} partitions, and topic.partitions says ${var.topic.partitions}: the number is fixed for the topic's life, since a user's records share a partition. The topic was left as it is: set topic.partitions = ${self.partitions}, or name another topic."
    }
  }
}

resource "kafka_user_scram_credential" "user" {
  for_each = { for user, operations in local.rights.topic : user => operations if var.make_users }

  username            = each.key
  scram_mechanism     = "SCRAM-SHA-512"
  scram_iterations    = 4096
  password_wo         = var.passwords[each.key]
  password_wo_version = lookup(var.password_versions, each.key, "1")
}

resource "kafka_acl" "right" {
  for_each = local.allowed

  acl_principal                = "User:${each.value.user}"
  acl_host                     = "*"
  acl_operation                = each.value.operation
  acl_permission_type          = "Allow"
  resource_type                = each.value.type
  resource_name                = each.value.name
  resource_pattern_type_filter = "Literal"
}

resource "kafka_quota" "rate" {
  for_each = var.quotas

  entity_type = "user"
  entity_name = each.key
  config      = { for name, rate in each.value : name => rate if rate != null }
}
