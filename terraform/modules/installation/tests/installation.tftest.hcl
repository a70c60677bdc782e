# Planned only: nothing is written, and no secret is made.
mock_provider "local" {}

variables {
  hosts = {
    k1 = { roles = ["broker"], broker_id = 1 }
    k2 = { roles = ["broker"], broker_id = 2 }
    k3 = { roles = ["broker"], broker_id = 3 }
    pg = { roles = ["postgres"] }
    m1 = { roles = ["spark_master", "airflow"] }
    w1 = { roles = ["spark_worker"], cores = 8, memory_mb = 16384 }
  }
  trusted_network = true
  airflow_url     = "https://airflow.example.com"
  output          = "/nowhere"
  maker           = { checkout = "/nowhere", python = "python3" }
}

run "each_host_gets_what_its_roles_need" {
  command = plan

  assert {
    condition     = output.units["k1"] == tolist(["kappa-kafka.service"]) && output.units["m1"] == tolist(["kappa-spark-master.service"])
    error_message = "other units"
  }
  assert {
    condition = toset([for file in keys(local_file.rendered) : file if startswith(file, "m1/")]) == toset([
      "m1/kappa.toml", "m1/pg_service.conf", "m1/kappa-spark-master.service", "m1/airflow-pools.json", "m1/airflow-connections.json", "m1/airflow.env"
    ])
    error_message = "a host of two roles gets something else than both need"
  }
  assert {
    condition = alltrue([for host in ["k1", "pg", "w1"] : length([
      for file in keys(local_file.rendered) : file if startswith(file, "${host}/pg_service")
    ]) == 0])
    error_message = "a host is told of passwords that it is not given"
  }
  assert {
    condition = join(" ", terraform_data.secrets[0].triggers_replace.hosts) == join(" ", [
      "k1=broker", "k2=broker", "k3=broker", "m1=airflow,spark_master", "pg=postgres", "w1=spark_worker"
    ])
    error_message = "who makes the secrets is told other hosts or roles, by which each is given its own"
  }
  assert {
    condition     = strcontains(local_file.rendered["w1/kappa-spark-worker.service"].content, "--host w1 --cores 8 --memory 16384m")
    error_message = "the worker offers something else"
  }
  assert {
    # A broker's unit is known when it is applied: the cluster's id is in it.
    condition     = strcontains(local_file.rendered["w1/kappa-spark-worker.service"].content, "ExecStartPre=+/usr/bin/install -d -m 0700 -o kappa /var/lib/kappa/spark\nExecStart=")
    error_message = "a program is to make its folder in one that root has made"
  }
  assert {
    condition = alltrue([for unit, end in { "pg/kappa-postgres" = "SIGINT\nKillMode=mixed", "w1/kappa-spark-worker" = "SIGTERM\nKillMode=control-group" } :
      strcontains(local_file.rendered["${unit}.service"].content, "\nKillSignal=${end}\n")
    ])
    error_message = "a program is ended otherwise than it asks for"
  }
  assert {
    condition     = join(" ", output.bootstrap) == "k1:9092 k2:9092 k3:9092" && output.replication_factor == 3
    error_message = "Kafka is told otherwise"
  }
}

run "one_master_keeps_what_it_knows_on_its_own_disk" {
  command = plan

  assert {
    condition     = strcontains(local_file.rendered["m1/kappa-spark-master.service"].content, "-Dspark.deploy.recoveryMode=FILESYSTEM -Dspark.deploy.recoveryDirectory=/var/lib/kappa/spark-master ")
    error_message = "a master that is started again knows nobody"
  }
  assert {
    condition     = strcontains(local_file.rendered["w1/kappa-spark-worker.service"].content, " spark://m1:7077\n") && strcontains(local_file.rendered["k1/kappa.toml"].content, "master = \"spark://m1:7077\"\nrest = [\"http://m1:6066\"]\n")
    error_message = "others look for another master"
  }
}

run "several_masters_agree_by_zookeeper_on_who_leads" {
  command = plan
  variables {
    hosts = {
      k1 = { roles = ["broker", "zookeeper"], broker_id = 1, zookeeper_id = 11 }
      k2 = { roles = ["broker", "zookeeper"], broker_id = 2, zookeeper_id = 12 }
      k3 = { roles = ["broker", "zookeeper"], broker_id = 3, zookeeper_id = 13 }
      pg = { roles = ["postgres", "spark_master", "spark_worker"] }
      m1 = { roles = ["spark_master"] }
    }
  }

  assert {
    condition     = output.units["k2"] == tolist(["kappa-kafka.service", "kappa-zookeeper.service"]) && local_file.rendered["k2/zookeeper-id"].content == "12\n"
    error_message = "ZooKeeper is not started where it was asked for, or has another number"
  }
  assert {
    condition     = strcontains(local_file.rendered["k2/zookeeper.cfg"].content, "\nserver.11=k1:2888:3888\nserver.12=k2:2888:3888\nserver.13=k3:2888:3888\n") && strcontains(local_file.rendered["k2/zookeeper.cfg"].content, "\nssl.keyStore.location=/etc/kappa/secrets/tls/k2.pem\n")
    error_message = "it does not know the others, or shows another's certificate"
  }
  assert {
    condition = alltrue([for host in ["m1", "pg"] : strcontains(local_file.rendered["${host}/kappa-spark-master.service"].content,
      "-Dspark.deploy.recoveryMode=ZOOKEEPER -Dspark.deploy.zookeeper.url=k1:2182,k2:2182,k3:2182 -Dzookeeper.client.secure=true ")
    && strcontains(local_file.rendered["${host}/kappa-spark-master.service"].content, " -Dzookeeper.ssl.keyStore.location=/etc/kappa/secrets/tls/${host}.pem ")])
    error_message = "a master does not ask ZooKeeper, or asks it in plain"
  }
  assert {
    condition     = strcontains(local_file.rendered["pg/kappa-spark-worker.service"].content, " spark://m1:7077,pg:7077\n") && strcontains(local_file.rendered["k1/kappa.toml"].content, "master = \"spark://m1:7077,pg:7077\"\nrest = [\"http://m1:6066\",\"http://pg:6066\"]\n")
    error_message = "others know one of the masters only"
  }
}

run "a_broker_keeps_its_number_when_others_come" {
  command = plan
  variables {
    hosts = {
      a1 = { roles = ["broker"], broker_id = 9 }
      k2 = { roles = ["broker"], broker_id = 2 }
      k3 = { roles = ["broker"], broker_id = 3 }
      pg = { roles = ["postgres", "spark_master", "spark_worker"] }
    }
  }

  assert {
    condition     = strcontains(local_file.rendered["k2/server.properties"].content, "node.id=2\ncontroller.quorum.voters=9@a1:9093,2@k2:9093,3@k3:9093")
    error_message = "the number follows the name"
  }
  assert {
    condition     = !strcontains(local_file.rendered["k2/server.properties"].content, "log.flush")
    error_message = "of three brokers each waits for its disk"
  }
}

run "one_machine_may_be_all_of_it" {
  command = plan
  variables {
    hosts = { one = { roles = ["broker", "postgres", "spark_master", "spark_worker"], broker_id = 1 } }
  }

  assert {
    condition     = output.replication_factor == 1 && length(output.units["one"]) == 4
    error_message = "copies without brokers for them, or a part that is missing"
  }
  assert {
    condition     = strcontains(local_file.rendered["one/server.properties"].content, "min.insync.replicas=1")
    error_message = "one broker waits for another"
  }
  assert {
    condition     = strcontains(local_file.rendered["one/server.properties"].content, "\nlog.flush.interval.ms=1000\n")
    error_message = "what one broker has acknowledged is nowhere else, and lost with its host's memory"
  }
}

run "the_heap_of_each_program_is_its_own" {
  command = plan
  variables {
    heap_mb = { worker = 512 }
  }

  assert {
    condition = alltrue([for unit, heap in { "m1/kappa-spark-master" = 256, "w1/kappa-spark-worker" = 512 } :
      strcontains(local_file.rendered["${unit}.service"].content, "\nExecStart=/usr/bin/java -Xmx${heap}m -XX:+UseSerialGC ")
    ])
    error_message = "a program has another heap than it was given"
  }
}

run "the_monitor_is_a_unit_and_every_host_knows_where_it_is" {
  command = plan
  variables {
    hosts = {
      k1 = { roles = ["broker"], broker_id = 1 }
      pg = { roles = ["postgres", "spark_master", "spark_worker"] }
      a1 = { roles = ["airflow", "monitor"] }
    }
    alert_targets = ["duty"]
  }

  assert {
    condition     = strcontains(local_file.rendered["a1/kappa-monitor.service"].content, "ExecStart=/opt/kappa/venv/bin/kappa alerts run")
    error_message = "the monitor is started otherwise"
  }
  assert {
    condition     = alltrue([for host in ["k1", "pg", "a1"] : strcontains(local_file.rendered["${host}/kappa.toml"].content, "[metrics]\nurl = \"http://a1:19100\"\nallow_plain = true\n\n[alerts]\ntargets = [\"duty\"]\n")])
    error_message = "a host knows nothing of the monitor, or of whom it tells"
  }
}

run "where_others_may_read_along_the_monitor_stays_on_its_own_host" {
  command = plan
  variables {
    hosts = {
      k1 = { roles = ["broker"], broker_id = 1 }
      pg = { roles = ["postgres", "spark_master", "spark_worker", "monitor"] }
    }
    trusted_network = false
    spark_rest      = ["https://spark.example.com/rest"]
    spark_ui        = ["https://spark.example.com/ui"]
  }

  assert {
    condition     = !strcontains(local_file.rendered["pg/kappa-monitor.service"].content, "0.0.0.0") && !strcontains(local_file.rendered["pg/kappa.toml"].content, "[metrics]")
    error_message = "metrics are spoken plainly between hosts"
  }
}

run "proxies_before_spark_are_named_instead" {
  command = plan
  variables {
    trusted_network = false
    spark_rest      = ["https://m1.example.com:6066"]
    spark_ui        = ["https://m1.example.com:8080"]
  }

  assert {
    condition     = strcontains(local_file.settings[0].content, "rest = [\"https://m1.example.com:6066\"]") && !strcontains(local_file.settings[0].content, "allow_plain")
    error_message = "the settings allow what is plain"
  }
}

run "kafka_and_postgres_may_be_elsewhere_and_workers_come_and_go" {
  command = plan
  variables {
    hosts = {
      m1 = { roles = ["spark_master", "client"] }
      w  = { roles = ["spark_worker"], many = true }
    }
    kafka    = { bootstrap = "b1.example.com:9096,b2.example.com:9096" }
    postgres = { host = "pg.example.com", ca = "/opt/ca.pem" }
    output   = null
    maker    = null
  }

  assert {
    condition     = length(local_file.rendered) == 0 && length(local_file.settings) == 0 && length(terraform_data.secrets) == 0
    error_message = "something is written"
  }
  assert {
    condition     = output.bootstrap[1] == "b2.example.com:9096" && !strcontains(output.files["w/kappa.toml"], "\nca =") && strcontains(output.files["w/kappa.toml"], "host = \"pg.example.com\"\nsslmode = \"verify-full\"\nsslrootcert = \"/opt/ca.pem\"")
    error_message = "the settings name other places"
  }
  assert {
    condition     = strcontains(output.files["w/kappa-spark-worker.service"], "--host %H ") && strcontains(output.files["w/kappa-spark-worker.service"], "SPARK_LOCAL_HOSTNAME=%H")
    error_message = "all workers would have one name"
  }
  assert {
    condition     = strcontains(output.files["m1/kappa-spark-master.service"], "-Dspark.deploy.recoveryMode=FILESYSTEM -Dspark.deploy.recoveryDirectory=/var/lib/kappa/spark-master ") && strcontains(output.files["m1/kappa-spark-master.service"], "install -d -m 0700 -o kappa /var/lib/kappa/spark-master")
    error_message = "a master that is started again knows no driver"
  }
  assert {
    condition     = strcontains(output.files["m1/pg_service.conf"], "sslrootcert=/opt/ca.pem")
    error_message = "psql trusts somebody else"
  }
}

run "an_airflow_of_one_s_own_authority_is_believed_by_its_file" {
  command = plan
  variables {
    airflow_ca = "/etc/kappa/secrets/ca.pem"
  }

  assert {
    condition     = strcontains(local_file.settings[0].content, "[airflow]\nurl = \"https://airflow.example.com\"\nca = \"/etc/kappa/secrets/ca.pem\"\n")
    error_message = "the settings do not name the authority"
  }
}

run "hdfs_may_be_the_store_in_a_trusted_network" {
  command = plan
  variables {
    store = "hdfs://nn.example.com:8020/kappa?http=http://nn.example.com:9870"
  }

  assert {
    condition     = strcontains(local_file.settings[0].content, "\nstore = \"hdfs://nn.example.com:8020/kappa?http=http://nn.example.com:9870\"\nallow_plain = true\n")
    error_message = "the settings name another store, or refuse what it says in plain"
  }
}

run "a_bucket_or_a_folder_may_be_the_store" {
  command = plan
  variables {
    store = "/mnt/checkpoints"
  }

  assert {
    condition     = strcontains(local_file.settings[0].content, "\nstore = \"/mnt/checkpoints\"\n")
    error_message = "the settings name another store"
  }
}
