# What hosts are given of the secrets folder, a secret for each file. Values are write-only: neither plan nor state has
# them. A file that changed is seen by 28 bits of its digest, from which nobody gets to a random word of 24 bytes.

locals {
  handed_out = setunion(local.given["spark_master"], local.given["spark_worker"], local.given["airflow"])
  versions   = { for file in local.secret_files : file => parseint(substr(filesha256("${var.secrets}/${file}"), 0, 7), 16) }
}

resource "aws_secretsmanager_secret" "file" {
  # checkov:skip=CKV2_AWS_57:whoever made the file makes a new one, and applies
  for_each = setunion(local.handed_out, ["postgres.pgpass"])

  name                    = "${var.name}/${each.key}"
  description             = "File of the secrets folder"
  kms_key_id              = aws_kms_key.data.arn
  recovery_window_in_days = var.keep ? 30 : 0
}

resource "aws_secretsmanager_secret_version" "file" {
  for_each = aws_secretsmanager_secret.file

  secret_id                = each.value.id
  secret_string_wo         = file("${var.secrets}/${each.key}")
  secret_string_wo_version = local.versions[each.key]
}

resource "aws_kms_key" "data" {
  description         = "${var.name}: what is kept"
  enable_key_rotation = true
  policy              = data.aws_iam_policy_document.key.json
}

resource "aws_kms_alias" "data" {
  name          = "alias/${var.name}"
  target_key_id = aws_kms_key.data.id
}

data "aws_iam_policy_document" "key" {
  # checkov:skip=CKV_AWS_109:the policy of a key, where * is that key
  # checkov:skip=CKV_AWS_111:the policy of a key, where * is that key
  # checkov:skip=CKV_AWS_356:the policy of a key, where * is that key
  # Without it nobody could change the key again: what identities may do with it, their own policies say.
  statement {
    sid       = "Account"
    actions   = ["kms:*"]
    resources = ["*"]
    principals {
      type        = "AWS"
      identifiers = ["arn:aws:iam::${local.account}:root"]
    }
  }
  statement {
    sid       = "Logs"
    actions   = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"]
    resources = ["*"]
    principals {
      type        = "Service"
      identifiers = ["logs.${var.region}.amazonaws.com"]
    }
    condition {
      test     = "ArnLike"
      variable = "kms:EncryptionContext:aws:logs:arn"
      values   = ["arn:aws:logs:${var.region}:${local.account}:log-group:/${var.name}/*"]
    }
  }
}
