"""Terraform: its providers, built from pinned modules, and the runs of a target of `terraform/`."""
