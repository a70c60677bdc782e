# An installation on AWS: MSK, RDS, a bucket, and hosts for Spark and Airflow in a network that nothing leaves.

data "aws_availability_zones" "here" {
  # checkov:skip=CKV_AWS_394:names are in order, so that a new zone comes last
  state = "available"
}

data "aws_caller_identity" "me" {}

module "sizing" {
  source = "../../modules/sizing"

  events_per_second = var.load.events_per_second
  retention_days    = var.load.retention_days
  lateness_minutes  = var.load.lateness_minutes
  ads               = var.load.ads
}

locals {
  zones   = 3
  account = data.aws_caller_identity.me.account_id
  domain  = "${var.name}.internal"
  master  = "spark-master.${local.domain}"
  airflow = "airflow.${local.domain}"
  worker  = "spark-worker"

  # MSK wants as many brokers in each zone.
  brokers        = ceil(module.sizing.brokers.count / local.zones) * local.zones
  broker_disk_gb = max(10, ceil(module.sizing.disk_gb.log / local.brokers))

  workers = coalesce(var.worker.count, max(
    2,
    ceil(module.sizing.workers.cores / var.worker.cores),
    ceil(module.sizing.workers.memory_gb * 1024 / var.worker.memory_mb),
  ))

  # Who is given which files of the secrets folder; a test holds it against what containers are given.
  given = { for role, files in jsondecode(file("${path.module}/secrets.json")) : role => toset(role == "airflow" ?
    concat(files, ["ca.pem", "tls/${local.airflow}.crt", "tls/${local.airflow}.key"]) : files
  ) }
  kafka_users  = toset(["kafka_producer", "kafka_stream", "kafka_control", "kafka_reader"])
  secret_files = setunion(local.given["spark_master"], local.given["spark_worker"], local.given["airflow"], [for user in local.kafka_users : "${user}.properties"], ["postgres.pgpass"])
}

# What the hosts' files say: the same module that renders those of one's own hosts.
module "installation" {
  source = "../../modules/installation"

  hosts = {
    (local.master)  = { roles = ["spark_master"] }
    (local.worker)  = { roles = ["spark_worker"], cores = var.worker.cores, memory_mb = var.worker.memory_mb, many = true }
    (local.airflow) = { roles = ["airflow", "client"] }
  }
  kafka    = { bootstrap = aws_msk_cluster.log.bootstrap_brokers_sasl_scram }
  postgres = { host = aws_db_instance.rows.address, ca = var.database_authority }
  # Only the hosts of this network may speak to each other, and its security groups say which; nothing goes out.
  trusted_network = true
  airflow_url     = "https://${local.airflow}:8080"
  airflow_ca      = "${var.places.secrets}/ca.pem"
  topic           = { partitions = module.sizing.topic.partitions, retention_hours = module.sizing.topic.retention_hours }
  store           = "s3a://${aws_s3_bucket.store.bucket}/store?region=${var.region}"
  places          = var.places
}
