# Private subnets only, no gateway to the internet: the hosts reach AWS by endpoints within the network.

resource "aws_vpc" "main" {
  # checkov:skip=CKV2_AWS_11:no route leads out of it, and what listens in it logs who comes
  cidr_block           = var.network
  enable_dns_support   = true
  enable_dns_hostnames = true
  tags                 = { Name = var.name }
}

resource "aws_default_security_group" "none" {
  vpc_id = aws_vpc.main.id
}

resource "aws_subnet" "private" {
  count = local.zones

  vpc_id            = aws_vpc.main.id
  availability_zone = data.aws_availability_zones.here.names[count.index]
  cidr_block        = cidrsubnet(var.network, 4, count.index)
  tags              = { Name = "${var.name}-${count.index + 1}" }
}

resource "aws_route_table" "private" {
  vpc_id = aws_vpc.main.id
  tags   = { Name = var.name }
}

resource "aws_route_table_association" "private" {
  count = local.zones

  subnet_id      = aws_subnet.private[count.index].id
  route_table_id = aws_route_table.private.id
}

resource "aws_vpc_endpoint" "s3" {
  vpc_id            = aws_vpc.main.id
  service_name      = "com.amazonaws.${var.region}.s3"
  vpc_endpoint_type = "Gateway"
  route_table_ids   = [aws_route_table.private.id]
}

# Secrets, and sessions of people (Session Manager), who need no open port.
resource "aws_vpc_endpoint" "service" {
  for_each = toset(["secretsmanager", "ssm", "ssmmessages", "ec2messages"])

  vpc_id              = aws_vpc.main.id
  service_name        = "com.amazonaws.${var.region}.${each.key}"
  vpc_endpoint_type   = "Interface"
  private_dns_enabled = true
  subnet_ids          = aws_subnet.private[*].id
  security_group_ids  = [aws_security_group.part["endpoints"].id]
}

resource "aws_route53_zone" "private" {
  name = local.domain

  vpc {
    vpc_id = aws_vpc.main.id
  }
}

locals {
  parts = {
    endpoints    = "Endpoints of AWS"
    kafka        = "MSK"
    postgres     = "RDS"
    shared       = "The shared folder"
    spark_master = "Master of Spark"
    spark_worker = "Workers of Spark"
    airflow      = "Airflow, and the command"
  }
  # From a part to a part, on ports. Drivers and executors listen on ports of their own choice.
  doors = {
    "spark_worker to kafka"         = { from = "spark_worker", to = "kafka", ports = [9096, 9096] }
    "airflow to kafka"              = { from = "airflow", to = "kafka", ports = [9096, 9096] }
    "airflow to kafka as its maker" = { from = "airflow", to = "kafka", ports = [9098, 9098] }
    "spark_worker to postgres"      = { from = "spark_worker", to = "postgres", ports = [5432, 5432] }
    "airflow to postgres"           = { from = "airflow", to = "postgres", ports = [5432, 5432] }
    "spark_worker to shared"        = { from = "spark_worker", to = "shared", ports = [2049, 2049] }
    "airflow to shared"             = { from = "airflow", to = "shared", ports = [2049, 2049] }
    "spark_worker to spark_master"  = { from = "spark_worker", to = "spark_master", ports = [7077, 7077] }
    "spark_worker to its pages"     = { from = "spark_worker", to = "spark_master", ports = [8080, 8080] }
    "airflow to its submissions"    = { from = "airflow", to = "spark_master", ports = [6066, 6066] }
    "airflow to its pages"          = { from = "airflow", to = "spark_master", ports = [8080, 8080] }
    "spark_master to spark_worker"  = { from = "spark_master", to = "spark_worker", ports = [1024, 65535] }
    "spark_worker to each other"    = { from = "spark_worker", to = "spark_worker", ports = [1024, 65535] }
    "spark_master to endpoints"     = { from = "spark_master", to = "endpoints", ports = [443, 443] }
    "spark_worker to endpoints"     = { from = "spark_worker", to = "endpoints", ports = [443, 443] }
    "airflow to endpoints"          = { from = "airflow", to = "endpoints", ports = [443, 443] }
  }
}

resource "aws_security_group" "part" {
  # checkov:skip=CKV2_AWS_5:attached by the name of its part
  for_each = local.parts

  name        = "${var.name}-${each.key}"
  description = each.value
  vpc_id      = aws_vpc.main.id
  tags        = { Name = "${var.name}-${each.key}" }
}

resource "aws_vpc_security_group_ingress_rule" "door" {
  # checkov:skip=CKV_AWS_25:from a security group, never from addresses
  for_each = local.doors

  security_group_id            = aws_security_group.part[each.value.to].id
  referenced_security_group_id = aws_security_group.part[each.value.from].id
  description                  = each.key
  ip_protocol                  = "tcp"
  from_port                    = each.value.ports[0]
  to_port                      = each.value.ports[1]
}

resource "aws_vpc_security_group_egress_rule" "door" {
  for_each = local.doors

  security_group_id            = aws_security_group.part[each.value.from].id
  referenced_security_group_id = aws_security_group.part[each.value.to].id
  description                  = each.key
  ip_protocol                  = "tcp"
  from_port                    = each.value.ports[0]
  to_port                      = each.value.ports[1]
}

resource "aws_vpc_security_group_egress_rule" "s3" {
  for_each = toset(["spark_master", "spark_worker", "airflow"])

  security_group_id = aws_security_group.part[each.key].id
  prefix_list_id    = aws_vpc_endpoint.s3.prefix_list_id
  description       = "${each.key} to buckets"
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
}
