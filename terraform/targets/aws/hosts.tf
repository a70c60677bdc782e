# Hosts of Spark and Airflow; what each runs it takes from the bucket when it starts. Master and Airflow are known by a
# name: one machine each. Workers come and go in a group.

locals {
  disk_gb = { spark_master = 30, spark_worker = 100, airflow = 50 }
  single  = { spark_master = "m7i.large", airflow = "m7i.xlarge" }

  # The files themselves are not part of it: a longer retention, which the runbook asks for in trouble, would replace the
  # master and Airflow's machine (README.md, "When a file changes").
  boot = { for kind, host in local.hosts : kind => templatefile("${path.module}/templates/boot.sh.tftpl", {
    region   = var.region
    bucket   = aws_s3_bucket.store.bucket
    host     = host
    named    = kind != "spark_worker"
    secrets  = sort(local.given[kind])
    prefix   = var.name
    postgres = aws_db_instance.rows.address
    places   = var.places
    shared   = kind == "spark_master" ? "" : aws_efs_file_system.shared.id
    units    = module.installation.units[host]
  }) }
}

resource "aws_instance" "single" {
  # checkov:skip=CKV_AWS_126:five minutes are often enough for these two
  for_each = local.single

  ami                         = var.image
  instance_type               = each.value
  subnet_id                   = aws_subnet.private[0].id
  vpc_security_group_ids      = [aws_security_group.part[each.key].id]
  iam_instance_profile        = aws_iam_instance_profile.host[each.key].name
  user_data                   = local.boot[each.key]
  user_data_replace_on_change = true
  ebs_optimized               = true
  tags                        = { Name = "${var.name}-${each.key}" }

  root_block_device {
    volume_type = "gp3"
    volume_size = local.disk_gb[each.key]
    encrypted   = true
    kms_key_id  = aws_kms_key.data.arn
  }

  metadata_options {
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  depends_on = [
    aws_s3_object.rendered, aws_secretsmanager_secret_version.file, aws_iam_role_policy.host,
    aws_vpc_endpoint.s3, aws_vpc_endpoint.service, aws_efs_mount_target.shared,
  ]
}

resource "aws_route53_record" "single" {
  for_each = local.single

  zone_id = aws_route53_zone.private.zone_id
  name    = local.hosts[each.key]
  type    = "A"
  ttl     = 60
  records = [aws_instance.single[each.key].private_ip]
}

resource "aws_launch_template" "worker" {
  name                   = "${var.name}-spark_worker"
  image_id               = var.image
  instance_type          = var.worker.type
  ebs_optimized          = true
  vpc_security_group_ids = [aws_security_group.part["spark_worker"].id]
  user_data              = base64encode(local.boot["spark_worker"])

  iam_instance_profile {
    arn = aws_iam_instance_profile.host["spark_worker"].arn
  }

  block_device_mappings {
    device_name = "/dev/xvda"

    ebs {
      volume_type = "gp3"
      volume_size = local.disk_gb["spark_worker"]
      encrypted   = true
    }
  }

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }
}

resource "aws_autoscaling_group" "workers" {
  name                = "${var.name}-spark_worker"
  min_size            = local.workers
  max_size            = local.workers
  desired_capacity    = local.workers
  vpc_zone_identifier = aws_subnet.private[*].id
  health_check_type   = "EC2"

  launch_template {
    id      = aws_launch_template.worker.id
    version = aws_launch_template.worker.latest_version
  }

  dynamic "tag" {
    for_each = { Name = "${var.name}-spark_worker", Project = "kappa-ads", Installation = var.name }
    content {
      key                 = tag.key
      value               = tag.value
      propagate_at_launch = true
    }
  }

  depends_on = [
    aws_instance.single, aws_route53_record.single, aws_s3_object.rendered, aws_secretsmanager_secret_version.file,
    aws_iam_role_policy.host, aws_vpc_endpoint.s3, aws_vpc_endpoint.service, aws_efs_mount_target.shared,
  ]
}
