terraform {
  required_version = ">= 1.11"
  required_providers {
    # tflint-ignore: terraform_unused_required_providers # of the module, pinned here
    local = {
      source  = "hashicorp/local"
      version = "2.9.0"
    }
  }
  # Where the state is, who applies it says: terraform init -backend-config=path=FILE.
  backend "local" {}
}
