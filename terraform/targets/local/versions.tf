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

provider "kafka" {
  bootstrap_servers = var.bootstrap
  sasl_mechanism    = local.admin.mechanism
  sasl_username     = local.admin.username
  sasl_password     = local.admin.password
  tls_enabled       = var.protocol == "SASL_SSL"
  ca_cert           = var.ca == "" ? "" : file(var.ca)
  timeout           = 60
}
