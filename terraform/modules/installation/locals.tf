locals {
  roles    = ["broker", "postgres", "zookeeper", "spark_master", "spark_worker", "airflow", "monitor", "client"]
  brokers  = { for name, host in var.hosts : name => host if contains(host.roles, "broker") }
  workers  = { for name, host in var.hosts : name => host if contains(host.roles, "spark_worker") }
  postgres = one([for name, host in var.hosts : name if contains(host.roles, "postgres")])
  masters  = sort([for name, host in var.hosts : name if contains(host.roles, "spark_master")])
  voting   = { for name, host in var.hosts : name => host if contains(host.roles, "zookeeper") }

  authority = "${var.places.secrets}/ca.pem"
  kafka     = var.kafka != null ? var.kafka : { bootstrap = join(",", local.bootstrap), ca = local.authority }
  database  = var.postgres != null ? var.postgres : { host = local.postgres, ca = local.authority }

  bootstrap = [for name in sort(keys(local.brokers)) : "${name}:9092"]
  voters    = [for name in sort(keys(local.brokers)) : "${local.brokers[name].broker_id}@${name}:9093"]
  copies    = min(3, length(local.brokers))

  # 22 characters of base64url are the 16 bytes of an id; the last of them has two bits only.
  cluster_id = "${substr(replace(replace(base64sha256(terraform_data.cluster.output), "+", "a"), "/", "b"), 0, 21)}Q"

  heap = { for role, mb in var.heap_mb : role => ["-Xmx${mb}m", "-XX:+UseSerialGC"] }
  # Whoever does not encrypt is not spoken to.
  encrypted = ["-Dspark.network.crypto.enabled=true", "-Dspark.network.crypto.saslFallback=false"]
  # A host that is silent for so many seconds is lost. Workers are told, too: they give word four times as often.
  spark = concat(local.encrypted, ["-Dspark.worker.timeout=20"])
  classes = {
    kafka = ["-cp", "${var.programs.kafka}/*"]
    spark = ["-cp", "${var.programs.spark}/jars/*"]
  }
  config = var.places.config
  path   = "${var.programs.python}:/usr/local/bin:/usr/bin:/bin"
  of_spark = {
    PATH                = local.path
    SPARK_HOME          = var.programs.spark
    SPARK_SCALA_VERSION = "2.13"
    KAPPA_SETTINGS      = "${local.config}/kappa.toml"
  }

  # What systemd does by itself: this signal to each process of the unit.
  usual_end = { signal = "SIGTERM", mode = "control-group" }

  units = {
    broker = {
      name        = "kappa-kafka"
      describe    = "Kafka, of Kappa Ads"
      user        = var.users.kappa
      kill        = local.usual_end
      environment = { PATH = local.path }
      prepare = ["${local.own} ${local.log}", join(" ", concat([var.programs.java, "-Xmx128m"], local.classes.kafka, [
        "kafka.tools.StorageTool", "format", "--ignore-formatted", "-t", local.cluster_id, "-c", "${local.config}/server.properties",
      ]))]
      command = concat([var.programs.java], local.heap.broker, ["-Dlog4j2.configurationFile=file://${local.config}/log4j2.yaml"], local.classes.kafka, [
        "kafka.Kafka", "${local.config}/server.properties",
      ])
    }
    postgres = {
      name     = "kappa-postgres"
      describe = "Postgres, of Kappa Ads"
      user     = var.users.postgres
      # Its fast shutdown; its other processes, to which the signal means something else, are ended by itself.
      kill        = { signal = "SIGINT", mode = "mixed" }
      environment = { PATH = local.path }
      # As root, who may read the keys and hands them over.
      prepare = ["+${local.config}/prepare-postgres"]
      command = ["${var.programs.postgres}/bin/postgres", "-D", "${var.places.data}/postgres", "-c", "config_file=${local.config}/postgresql.conf"]
    }
    zookeeper = {
      name        = "kappa-zookeeper"
      describe    = "ZooKeeper, by which the masters of Spark agree on who leads, of Kappa Ads"
      user        = var.users.kappa
      kill        = local.usual_end
      environment = { PATH = local.path }
      prepare     = ["${local.own} ${local.agreed}", "/bin/cp ${local.config}/zookeeper-id ${local.agreed}/myid"]
      command = concat([var.programs.java], local.heap.zookeeper, local.classes.spark, [
        "org.apache.zookeeper.server.quorum.QuorumPeerMain", "${local.config}/zookeeper.cfg",
      ])
    }
    monitor = {
      name     = "kappa-monitor"
      describe = "The monitor of Kappa Ads, which serves metrics and tells who is on duty"
      user     = var.users.kappa
      kill     = local.usual_end
      environment = merge({ PATH = local.path, KAPPA_SETTINGS = "${local.config}/kappa.toml", KAPPA_HOME = local.watching },
      var.trusted_network ? { KAPPA__METRICS__ADDRESS = "0.0.0.0" } : {})
      prepare = ["${local.own} ${local.watching}"]
      command = [var.programs.command, "alerts", "run"]
    }
  }
  monitor = one([for name, host in var.hosts : name if contains(host.roles, "monitor")])

  # What each program writes into, which root makes for its user: the folder around them may be root's. + is systemd's
  # word for: as root.
  own      = "+/usr/bin/install -d -m 0700 -o ${var.users.kappa}"
  log      = "${var.places.data}/kafka"
  known    = "${var.places.data}/spark-master"
  agreed   = "${var.places.data}/zookeeper"
  work     = "${var.places.data}/spark"
  watching = "${var.places.data}/monitor"

  # What masters know of workers and drivers says which programs run: in a folder of the one that there is, or where
  # several agree on who leads, which lets in those that have a certificate of the authority.
  recovery = { for name in local.masters : name => length(local.voting) == 0 ? [
    "-Dspark.deploy.recoveryMode=FILESYSTEM", "-Dspark.deploy.recoveryDirectory=${local.known}",
    ] : [
    "-Dspark.deploy.recoveryMode=ZOOKEEPER", "-Dspark.deploy.zookeeper.url=${join(",", [for host in sort(keys(local.voting)) : "${host}:2182"])}",
    "-Dzookeeper.client.secure=true", "-Dzookeeper.clientCnxnSocket=org.apache.zookeeper.ClientCnxnSocketNetty",
    "-Dzookeeper.ssl.keyStore.location=${var.places.secrets}/tls/${name}.pem", "-Dzookeeper.ssl.trustStore.location=${local.authority}",
  ] }
  master = { for name in local.masters : name => {
    name        = "kappa-spark-master"
    describe    = "Spark's master, of Kappa Ads"
    user        = var.users.kappa
    kill        = local.usual_end
    environment = local.of_spark
    # Nobody else reads or writes it.
    prepare = ["${local.own} ${local.known}"]
    command = concat([var.programs.java], local.heap.master, local.spark, [
      "-Dspark.master.rest.enabled=true", "-Dspark.master.rest.host=0.0.0.0", "-Dspark.master.rest.port=6066",
      "-Dspark.ui.killEnabled=false", "-Dspark.master.ui.decommission.allow.mode=DENY",
      "-Dspark.dead.worker.persistence=4320",
      ], local.recovery[name], local.classes.spark, [
      "org.apache.spark.deploy.master.Master", "--properties-file", "${var.places.secrets}/spark-master.properties",
      "--host", name, "--port", "7077", "--webui-port", "8080",
    ])
  } }
  leading = "spark://${join(",", [for name in local.masters : "${name}:7077"])}"

  # %H is systemd's word for the host's own name.
  called = { for name, host in local.workers : name => host.many ? "%H" : name }
  worker = { for name, host in local.workers : name => {
    name        = "kappa-spark-worker"
    describe    = "Spark's worker, of Kappa Ads"
    user        = var.users.kappa
    kill        = local.usual_end
    environment = merge(local.of_spark, { SPARK_LOCAL_HOSTNAME = local.called[name] })
    prepare     = ["${local.own} ${local.work}"]
    command = concat([var.programs.java], local.heap.worker, local.spark, [
      "-Dspark.ui.killEnabled=false", "-Dspark.worker.cleanup.enabled=true", "-Dspark.worker.cleanup.interval=600",
      "-Dspark.worker.cleanup.appDataTtl=2592000",
      ], local.classes.spark, [
      "org.apache.spark.deploy.worker.Worker", "--properties-file", "${var.places.secrets}/spark-worker.properties",
      "--host", local.called[name], "--cores", tostring(host.cores), "--memory", "${host.memory_mb}m", "--work-dir", local.work,
      local.leading,
    ])
  } }
}
