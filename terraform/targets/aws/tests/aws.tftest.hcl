# Planned only, by mocks: nothing is asked of AWS. The files are those that tests/made writes, and removes again.
mock_provider "aws" {
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{}" }
  }
  mock_data "aws_availability_zones" {
    defaults = { names = ["eu-central-1a", "eu-central-1b", "eu-central-1c"] }
  }
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }
}

variables {
  folder  = "./tests/secrets"
  region  = "eu-central-1"
  secrets = "./tests/secrets"
  image   = "ami-0123456789abcdef0"
  load    = { events_per_second = 2000, retention_days = 7 }
}

run "files_in_the_place_of_passwords" {
  module {
    source = "./tests/made"
  }
}

run "sizes_follow_from_the_load" {
  command = plan

  assert {
    condition     = output.made == { brokers = 3, broker_disk_gb = 432, workers = 2, database_gb = 113 }
    error_message = "made is ${jsonencode(output.made)}, where docs/sizing.md has 3 brokers with 432 GB, 8 cores and 11 GB for Spark"
  }
  assert {
    condition     = aws_msk_cluster.log.number_of_broker_nodes == 3 && aws_autoscaling_group.workers.desired_capacity == 2
    error_message = "what is made is not what is told"
  }
}

run "all_is_encrypted_and_each_is_given_its_own" {
  command = plan

  assert {
    condition     = aws_msk_cluster.log.encryption_info[0].encryption_in_transit[0].client_broker == "TLS" && aws_msk_cluster.log.client_authentication[0].sasl[0].scram
    error_message = "Kafka takes what is plain, or from anybody"
  }
  assert {
    condition     = strcontains(aws_msk_configuration.log.server_properties, "allow.everyone.if.no.acl.found=false") && strcontains(aws_msk_configuration.log.server_properties, "auto.create.topics.enable=false")
    error_message = "what no right says is allowed"
  }
  assert {
    condition     = contains([for parameter in aws_db_parameter_group.rows.parameter : "${parameter.name}=${parameter.value}"], "rds.force_ssl=1")
    error_message = "Postgres takes what is plain"
  }
  assert {
    condition     = aws_db_instance.rows.storage_encrypted && !aws_db_instance.rows.publicly_accessible && aws_efs_file_system.shared.encrypted
    error_message = "something is kept in plain, or open"
  }
  assert {
    condition     = aws_launch_template.worker.metadata_options[0].http_tokens == "required" && alltrue([for host in aws_instance.single : host.metadata_options[0].http_tokens == "required"])
    error_message = "a host tells its role's keys to whoever makes it ask"
  }
  assert {
    condition     = alltrue([for rule in values(aws_vpc_security_group_ingress_rule.door) : rule.cidr_ipv4 == null && rule.cidr_ipv6 == null])
    error_message = "a rule lets addresses in"
  }
  assert {
    condition     = toset([for name, door in local.doors : door.from if door.to == "kafka" || door.to == "postgres"]) == toset(["spark_worker", "airflow"])
    error_message = "somebody else reaches the data"
  }
  assert {
    condition     = length(aws_secretsmanager_secret_version.kafka_user) == 4 && alltrue([for secret in values(aws_secretsmanager_secret.kafka_user) : startswith(secret.name, "AmazonMSK_")])
    error_message = "MSK finds no user"
  }
  assert {
    condition     = !contains(keys(aws_secretsmanager_secret.file), "kafka_admin.properties") && !contains(local.handed_out, "postgres.pgpass")
    error_message = "a host is given an administrator"
  }
  assert {
    condition     = length(setintersection(local.given["spark_worker"], ["kappa_owner.pgpass", "spark-rest.key"])) == 0
    error_message = "a worker is given more than a driver needs"
  }
}

run "brokers_are_the_same_number_in_each_zone" {
  command = plan
  variables {
    load = { events_per_second = 8000, retention_days = 30 }
  }

  assert {
    condition     = output.made.brokers % 3 == 0 && output.made.brokers * output.made.broker_disk_gb >= 22217
    error_message = "made is ${jsonencode(output.made)}"
  }
}

run "a_trial_may_be_deleted" {
  command = plan
  variables {
    keep = false
  }

  assert {
    condition     = !aws_db_instance.rows.deletion_protection && aws_s3_bucket.store.force_destroy
    error_message = "it stays"
  }
}

run "what_cannot_be_is_refused" {
  command = plan
  variables {
    name               = "Kappa Ads"
    region             = "Frankfurt"
    network            = "10.0.0.0/24"
    image              = "debian-12"
    worker             = { type = "m7g.xlarge" }
    kafka_version      = "3.8.x"
    postgres_version   = "16.4"
    database_authority = "bundle.pem"
  }
  expect_failures = [
    var.name, var.region, var.network, var.image, var.worker, var.kafka_version, var.postgres_version,
    var.database_authority,
  ]
}

run "a_public_network_no_passwords_and_a_worker_without_room_are_refused" {
  command = plan
  variables {
    network = "8.8.0.0/16"
    secrets = "./tests"
    worker  = { memory_mb = 1024 }
  }
  expect_failures = [var.network, var.secrets, var.worker]
}
