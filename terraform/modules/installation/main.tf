# What each host needs to take its part in an installation: settings, properties, unit files; and, made outside of
# Terraform's memory, the passwords and certificates.

resource "terraform_data" "cluster" {
  input = uuid()

  lifecycle {
    # A broker whose storage was made for another cluster does not start.
    ignore_changes = [input]
  }
}

# Names only: passwords and keys are made by the checkout's own program, which writes them into files and tells nobody.
resource "terraform_data" "secrets" {
  count = var.maker == null ? 0 : 1

  triggers_replace = {
    # What a host is given follows from what it is.
    hosts  = [for name, host in var.hosts : "${name}=${join(",", sort(host.roles))}"]
    folder = "${var.output}/secrets"
    told   = var.alert_targets
    # Password files name it.
    postgres = local.database.host
  }

  provisioner "local-exec" {
    working_dir = var.maker.checkout
    command     = "exec \"$PYTHON\" -m stack.provisioning.host_secrets \"$SETTINGS\" \"$OUTPUT\" ${join(" ", self.triggers_replace.hosts)}"
    environment = {
      PYTHON     = var.maker.python
      PYTHONPATH = ".:plugins"
      SETTINGS   = local_file.settings[0].filename
      OUTPUT     = var.output
    }
  }
}

resource "local_file" "settings" {
  count = var.output == null ? 0 : 1

  filename        = "${var.output}/kappa.toml"
  file_permission = "0644"
  content         = local.settings
}

resource "local_file" "rendered" {
  for_each = { for name, text in local.files : name => text if var.output != null }

  filename        = "${var.output}/hosts/${each.key}"
  content         = each.value
  file_permission = endswith(each.key, "/prepare-postgres") ? "0755" : "0644"
}

locals {
  settings = templatefile("${path.module}/templates/kappa.toml.tftpl", {
    kafka    = local.kafka
    postgres = local.database
    master   = local.leading
    rest     = jsonencode(length(var.spark_rest) > 0 ? var.spark_rest : [for name in local.masters : "http://${name}:6066"])
    ui       = jsonencode(length(var.spark_ui) > 0 ? var.spark_ui : [for name in local.masters : "http://${name}:8080"])
    trusted  = var.trusted_network
    airflow  = { url = var.airflow_url, ca = var.airflow_ca }
    shared   = var.places.shared
    secrets  = var.places.secrets
    store    = var.store
    topic    = var.topic
    monitor  = var.trusted_network && local.monitor != null ? "http://${local.monitor}:19100" : ""
    told     = length(var.alert_targets) > 0 ? jsonencode(var.alert_targets) : ""
  })

  of_all = { for name in keys(var.hosts) : name => { "kappa.toml" = local.settings } }
  # Who has the password of each role.
  of_people = { for name, host in var.hosts : name => {
    "pg_service.conf" = templatefile("${path.module}/templates/pg_service.conf.tftpl", {
      host  = local.database.host, ca = local.database.ca, secrets = var.places.secrets, database = "kappa"
      roles = ["kappa_owner", "kappa_writer", "kappa_registry", "kappa_operator", "kappa_reader"]
    })
  } if length(setintersection(host.roles, ["airflow", "client"])) > 0 }
  of_brokers = { for name, host in local.brokers : name => {
    "server.properties" = templatefile("${path.module}/templates/server.properties.tftpl", {
      id   = host.broker_id, host = name, voters = join(",", local.voters), secrets = var.places.secrets
      data = local.log, copies = local.copies, least = max(1, local.copies - 1)
    })
    "log4j2.yaml"         = file("${path.module}/templates/log4j2.yaml")
    "kappa-kafka.service" = templatefile("${path.module}/templates/unit.service.tftpl", local.units.broker)
  } }
  of_postgres = { for name in local.postgres[*] : name => {
    "postgresql.conf" = templatefile("${path.module}/templates/postgresql.conf.tftpl", {
      config = local.config, data = "${var.places.data}/postgres"
    })
    "pg_hba.conf" = file("${path.module}/templates/pg_hba.conf")
    "prepare-postgres" = templatefile("${path.module}/templates/prepare-postgres.tftpl", {
      bin  = "${var.programs.postgres}/bin", data = "${var.places.data}/postgres", user = var.users.postgres
      host = name, secrets = var.places.secrets
    })
    "kappa-postgres.service" = templatefile("${path.module}/templates/unit.service.tftpl", local.units.postgres)
  } }
  of_zookeeper = { for name, host in local.voting : name => {
    "zookeeper.cfg" = templatefile("${path.module}/templates/zookeeper.cfg.tftpl", {
      host = name, data = local.agreed, secrets = var.places.secrets
      ids  = length(local.voting) > 1 ? { for name, host in local.voting : name => host.zookeeper_id } : {}
    })
    "zookeeper-id"            = "${host.zookeeper_id}\n"
    "kappa-zookeeper.service" = templatefile("${path.module}/templates/unit.service.tftpl", local.units.zookeeper)
  } }
  of_masters = { for name, unit in local.master : name => {
    "kappa-spark-master.service" = templatefile("${path.module}/templates/unit.service.tftpl", unit)
  } }
  of_workers = { for name, unit in local.worker : name => {
    "kappa-spark-worker.service" = templatefile("${path.module}/templates/unit.service.tftpl", unit)
  } }
  of_monitor = { for name in local.monitor[*] : name => {
    "kappa-monitor.service" = templatefile("${path.module}/templates/unit.service.tftpl", local.units.monitor)
  } }
  of_airflow = { for name, host in var.hosts : name => {
    "airflow-pools.json"       = file("${path.module}/airflow/pools.json")
    "airflow-connections.json" = file("${path.module}/airflow/connections.json")
    "airflow.env"              = "KAPPA_SETTINGS=${local.config}/kappa.toml\nKAPPA_HOME=${var.places.data}/airflow\n"
  } if contains(host.roles, "airflow") }

  files = merge([
    for part in [local.of_all, local.of_people, local.of_brokers, local.of_postgres, local.of_zookeeper, local.of_masters, local.of_workers, local.of_monitor, local.of_airflow] : merge([
      for host, files in part : { for file, text in files : "${host}/${file}" => text }
    ]...)
  ]...)
}
