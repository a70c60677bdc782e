# Checkpoints and what hosts are given, in a bucket; artifacts and jars, in a folder that hosts of Spark and Airflow mount.

resource "aws_s3_bucket" "store" {
  # checkov:skip=CKV2_AWS_62:nobody waits for it
  # checkov:skip=CKV_AWS_18:two roles reach it, and Spark and Airflow log what they do
  # checkov:skip=CKV_AWS_21:each batch replaces files of a checkpoint; old ones help nobody and cost
  # checkov:skip=CKV_AWS_144:all of it can be computed again from the log
  bucket        = "${var.name}-${local.account}-${var.region}"
  force_destroy = !var.keep
}

resource "aws_s3_bucket_public_access_block" "store" {
  bucket                  = aws_s3_bucket.store.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_ownership_controls" "store" {
  bucket = aws_s3_bucket.store.id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "store" {
  bucket = aws_s3_bucket.store.id

  rule {
    bucket_key_enabled = true

    apply_server_side_encryption_by_default {
      sse_algorithm     = "aws:kms"
      kms_master_key_id = aws_kms_key.data.arn
    }
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "store" {
  bucket = aws_s3_bucket.store.id

  rule {
    id     = "broken-uploads"
    status = "Enabled"

    filter {}

    abort_incomplete_multipart_upload {
      days_after_initiation = 2
    }
  }
}

resource "aws_s3_bucket_policy" "store" {
  bucket = aws_s3_bucket.store.id
  policy = data.aws_iam_policy_document.bucket.json

  depends_on = [aws_s3_bucket_public_access_block.store]
}

data "aws_iam_policy_document" "bucket" {
  statement {
    sid       = "EncryptedOnly"
    effect    = "Deny"
    actions   = ["s3:*"]
    resources = [aws_s3_bucket.store.arn, "${aws_s3_bucket.store.arn}/*"]
    principals {
      type        = "*"
      identifiers = ["*"]
    }
    condition {
      test     = "Bool"
      variable = "aws:SecureTransport"
      values   = ["false"]
    }
  }
}

resource "aws_s3_object" "rendered" {
  for_each = module.installation.files

  bucket       = aws_s3_bucket.store.id
  key          = "hosts/${each.key}"
  content      = each.value
  content_type = "text/plain"

  depends_on = [aws_s3_bucket_server_side_encryption_configuration.store]
}

resource "aws_efs_file_system" "shared" {
  creation_token  = var.name
  encrypted       = true
  kms_key_id      = aws_kms_key.data.arn
  throughput_mode = "elastic"
  tags            = { Name = var.name }
}

resource "aws_efs_mount_target" "shared" {
  count = local.zones

  file_system_id  = aws_efs_file_system.shared.id
  subnet_id       = aws_subnet.private[count.index].id
  security_groups = [aws_security_group.part["shared"].id]
}

resource "aws_efs_file_system_policy" "shared" {
  file_system_id = aws_efs_file_system.shared.id
  policy         = data.aws_iam_policy_document.shared.json
}

data "aws_iam_policy_document" "shared" {
  # Who mounts it says by which role, and encrypts.
  statement {
    sid       = "Hosts"
    actions   = ["elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite", "elasticfilesystem:ClientRootAccess"]
    resources = [aws_efs_file_system.shared.arn]
    principals {
      type        = "AWS"
      identifiers = [for role in ["spark_worker", "airflow"] : aws_iam_role.host[role].arn]
    }
    condition {
      test     = "Bool"
      variable = "aws:SecureTransport"
      values   = ["true"]
    }
  }
}
