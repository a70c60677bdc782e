terraform {
  required_version = ">= 1.11"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "5.100.0"
    }
    # tflint-ignore: terraform_unused_required_providers # of the module, pinned here
    local = {
      source  = "hashicorp/local"
      version = "2.9.0"
    }
  }
  # Where the state is, who applies it says: terraform init -backend-config=path=FILE.
  backend "local" {}
}

provider "aws" {
  region = var.region

  default_tags {
    tags = { Project = "kappa-ads", Installation = var.name }
  }
}
