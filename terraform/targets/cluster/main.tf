# An installation on hosts that one has: what each of them needs, in a folder of its own.

module "installation" {
  source = "../../modules/installation"

  hosts           = var.hosts
  trusted_network = var.trusted_network
  spark_rest      = var.spark_rest
  spark_ui        = var.spark_ui
  airflow_url     = var.airflow_url
  airflow_ca      = var.airflow_ca
  alert_targets   = var.alert_targets
  topic           = var.topic
  store           = var.store
  places          = var.places
  programs        = var.programs
  users           = var.users
  heap_mb         = var.heap_mb
  output          = var.output
  maker           = var.maker
}
