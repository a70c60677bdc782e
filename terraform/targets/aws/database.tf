# Served rows, the registry, and Airflow's own database.

resource "aws_db_subnet_group" "rows" {
  name       = var.name
  subnet_ids = aws_subnet.private[*].id
}

resource "aws_db_parameter_group" "rows" {
  name   = "${var.name}-postgres${split(".", var.postgres_version)[0]}"
  family = "postgres${split(".", var.postgres_version)[0]}"

  # Nobody without TLS, and passwords as verifiers of SCRAM only.
  parameter {
    name  = "rds.force_ssl"
    value = "1"
  }
  parameter {
    name  = "password_encryption"
    value = "scram-sha-256"
  }
  parameter {
    name  = "rds.accepted_password_auth_method"
    value = "scram"
  }
  parameter {
    name  = "timezone"
    value = "UTC"
  }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_db_instance" "rows" {
  # checkov:skip=CKV_AWS_118:Performance Insights is on
  # checkov:skip=CKV_AWS_161:roles sign in by SCRAM, on AWS as elsewhere
  identifier     = var.name
  engine         = "postgres"
  engine_version = var.postgres_version
  instance_class = "db.m7g.large"
  multi_az       = true

  storage_type          = "gp3"
  allocated_storage     = max(20, module.sizing.disk_gb.rows)
  max_allocated_storage = max(40, module.sizing.disk_gb.rows * 2)
  storage_encrypted     = true
  kms_key_id            = aws_kms_key.data.arn

  username            = "postgres"
  password_wo         = trimspace(reverse(split(":", file("${var.secrets}/postgres.pgpass")))[0])
  password_wo_version = local.versions["postgres.pgpass"]

  db_subnet_group_name   = aws_db_subnet_group.rows.name
  vpc_security_group_ids = [aws_security_group.part["postgres"].id]
  parameter_group_name   = aws_db_parameter_group.rows.name
  publicly_accessible    = false

  backup_retention_period         = 14
  copy_tags_to_snapshot           = true
  auto_minor_version_upgrade      = true
  enabled_cloudwatch_logs_exports = ["postgresql", "upgrade"]
  performance_insights_enabled    = true
  performance_insights_kms_key_id = aws_kms_key.data.arn
  deletion_protection             = var.keep
  skip_final_snapshot             = !var.keep
  final_snapshot_identifier       = "${var.name}-last"
}
