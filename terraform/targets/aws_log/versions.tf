terraform {
  required_version = ">= 1.11"
  required_providers {
    kafka = {
      source  = "Mongey/kafka"
      version = "0.13.1"
    }
  }
  # Where the state is, who applies it says: terraform init -backend-config=path=FILE.
  backend "local" {}
}

# Who applies it is known by a role of AWS, whose policy is the output 'log' of targets/aws; keys are in no variable.
provider "kafka" {
  bootstrap_servers = var.bootstrap
  sasl_mechanism    = "aws-iam"
  sasl_aws_region   = var.region
  tls_enabled       = true
  timeout           = 60
}
