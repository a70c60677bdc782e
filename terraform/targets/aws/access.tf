# A role for each kind of host, which may do what that kind does, and a policy for whoever makes topic and rights.

resource "aws_iam_role" "host" {
  for_each = local.given

  name               = "${var.name}-${each.key}"
  assume_role_policy = data.aws_iam_policy_document.instances.json
}

resource "aws_iam_instance_profile" "host" {
  for_each = local.given

  name = "${var.name}-${each.key}"
  role = aws_iam_role.host[each.key].name
}

data "aws_iam_policy_document" "instances" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["ec2.amazonaws.com"]
    }
  }
}

# People reach a host by Session Manager: no port is open, no key lies on it.
resource "aws_iam_role_policy_attachment" "sessions" {
  for_each = local.given

  role       = aws_iam_role.host[each.key].name
  policy_arn = "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"
}

resource "aws_iam_role_policy" "host" {
  for_each = local.given

  name   = "kappa"
  role   = aws_iam_role.host[each.key].id
  policy = data.aws_iam_policy_document.host[each.key].json
}

locals {
  hosts = { spark_master = local.master, spark_worker = local.worker, airflow = local.airflow }
}

data "aws_iam_policy_document" "host" {
  for_each = local.given

  statement {
    sid       = "ItsSecrets"
    actions   = ["secretsmanager:GetSecretValue"]
    resources = [for file in sort(each.value) : aws_secretsmanager_secret.file[file].arn]
  }
  statement {
    sid       = "ItsFiles"
    actions   = ["s3:GetObject"]
    resources = ["${aws_s3_bucket.store.arn}/hosts/${local.hosts[each.key]}/*"]
  }
  statement {
    sid       = "ItsFilesByName"
    actions   = ["s3:ListBucket"]
    resources = [aws_s3_bucket.store.arn]
    condition {
      test     = "StringLike"
      variable = "s3:prefix"
      values   = concat(["hosts/${local.hosts[each.key]}/*"], each.key == "spark_master" ? [] : ["store/*", "store"])
    }
  }
  dynamic "statement" {
    for_each = each.key == "spark_master" ? [] : ["checkpoints"]
    content {
      sid       = "Checkpoints"
      actions   = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"]
      resources = ["${aws_s3_bucket.store.arn}/store/*"]
    }
  }
  statement {
    sid       = "WhatIsKept"
    actions   = concat(["kms:Decrypt"], each.key == "spark_master" ? [] : ["kms:GenerateDataKey"])
    resources = [aws_kms_key.data.arn]
  }
}

resource "aws_iam_policy" "log_maker" {
  name        = "${var.name}-log-maker"
  description = "For whoever applies targets/aws_log"
  policy      = data.aws_iam_policy_document.log_maker.json
}

data "aws_iam_policy_document" "log_maker" {
  statement {
    sid       = "Cluster"
    actions   = ["kafka-cluster:Connect", "kafka-cluster:DescribeCluster", "kafka-cluster:AlterCluster", "kafka-cluster:DescribeClusterDynamicConfiguration", "kafka-cluster:AlterClusterDynamicConfiguration"]
    resources = [aws_msk_cluster.log.arn]
  }
  statement {
    sid       = "Topics"
    actions   = ["kafka-cluster:CreateTopic", "kafka-cluster:DescribeTopic", "kafka-cluster:AlterTopic", "kafka-cluster:DescribeTopicDynamicConfiguration", "kafka-cluster:AlterTopicDynamicConfiguration"]
    resources = ["${replace(aws_msk_cluster.log.arn, ":cluster/", ":topic/")}/*"]
  }
}
