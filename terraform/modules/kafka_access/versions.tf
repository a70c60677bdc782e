terraform {
  required_version = ">= 1.11"
  required_providers {
    kafka = {
      source  = "Mongey/kafka"
      version = "0.13.1"
    }
  }
}
