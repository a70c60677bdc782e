# Planned only, and without a broker: prevent_destroy would keep a test from clearing up after an apply.
mock_provider "kafka" {}

variables {
  passwords = {
    kafka_producer = "of-a-test-only-01"
    kafka_stream   = "of-a-test-only-02"
    kafka_control  = "of-a-test-only-03"
    kafka_reader   = "of-a-test-only-04"
  }
}

run "rights_are_those_of_the_roles" {
  command = plan

  assert {
    condition     = toset([for user in kafka_user_scram_credential.user : user.username]) == toset(["kafka_producer", "kafka_stream", "kafka_control", "kafka_reader"])
    error_message = "other users than the four"
  }
  assert {
    condition     = [for right in kafka_acl.right : right.acl_operation if right.acl_principal == "User:kafka_producer"] == ["Describe", "Write"]
    error_message = "the producer may do something else than write and describe"
  }
  assert {
    condition     = length(kafka_acl.right) == 12 && kafka_acl.right["kafka_stream/Topic/DESCRIBE_CONFIGS"].acl_operation == "DescribeConfigs"
    error_message = "a right is missing, or has another name than the provider's"
  }
  assert {
    condition     = alltrue([for right in kafka_acl.right : right.resource_name == "ad_events" || right.resource_type == "Group"])
    error_message = "a right on another topic"
  }
}

run "the_broker_stamps_each_record" {
  command = plan
  variables {
    topic = { retention_hours = 24 }
  }

  assert {
    condition     = kafka_topic.log.config == tomap({ "message.timestamp.type" = "LogAppendTime", "retention.ms" = "86400000" })
    error_message = "the topic is configured otherwise"
  }
  assert {
    condition     = kafka_topic.log.partitions == 6 && kafka_topic.log.replication_factor == 3
    error_message = "the topic has another size"
  }
}

run "a_quota_has_only_the_rates_that_are_named" {
  command = plan
  variables {
    quotas = { kafka_reader = { consumer_byte_rate = 2097152 } }
  }

  assert {
    condition     = kafka_quota.rate["kafka_reader"].config == tomap({ consumer_byte_rate = 2097152 })
    error_message = "the quota limits something else"
  }
}

run "a_topic_without_partitions_is_refused" {
  command = plan
  variables {
    topic = { partitions = 0 }
  }
  expect_failures = [var.topic]
}

run "a_topic_that_keeps_nothing_is_refused" {
  command = plan
  variables {
    topic = { retention_hours = 0 }
  }
  expect_failures = [var.topic]
}

run "a_topic_without_a_copy_is_refused" {
  command = plan
  variables {
    topic = { replication_factor = 0 }
  }
  expect_failures = [var.topic]
}

run "a_topic_whose_name_kafka_would_refuse_is_refused" {
  command = plan
  variables {
    topic = { name = "ad events" }
  }
  expect_failures = [var.topic]
}

run "a_user_without_a_password_is_refused" {
  command = plan
  variables {
    passwords = { kafka_producer = "of-a-test-only-01" }
  }
  expect_failures = [var.passwords]
}

run "a_short_password_is_refused" {
  command = plan
  variables {
    passwords = {
      kafka_producer = "of-a-test-only-01"
      kafka_stream   = "of-a-test-only-02"
      kafka_control  = "of-a-test-only-03"
      kafka_reader   = "short"
    }
  }
  expect_failures = [var.passwords]
}

run "a_quota_of_nobody_is_refused" {
  command = plan
  variables {
    quotas = { somebody = { consumer_byte_rate = 2097152 } }
  }
  expect_failures = [var.quotas]
}

run "a_quota_that_stops_a_batch_is_refused" {
  command = plan
  variables {
    quotas = { kafka_producer = { producer_byte_rate = 1000 } }
  }
  expect_failures = [var.quotas]
}

run "users_may_be_made_elsewhere" {
  command = plan
  variables {
    make_users = false
    passwords  = {}
  }

  assert {
    condition     = length(kafka_user_scram_credential.user) == 0 && length(kafka_acl.right) == 12
    error_message = "a user is made, or has no right"
  }
}
