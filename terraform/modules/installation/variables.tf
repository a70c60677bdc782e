variable "hosts" {
  description = "By name, as the others find it: what runs there. broker_id and zookeeper_id are the host's numbers in Kafka and in ZooKeeper, for good; cores and memory_mb are what a worker of Spark offers. many: any number of workers are started from these files, each of which says its own host name."
  type = map(object({
    roles        = set(string)
    broker_id    = optional(number)
    zookeeper_id = optional(number)
    cores        = optional(number, 4)
    memory_mb    = optional(number, 4096)
    many         = optional(bool, false)
  }))

  validation {
    condition     = alltrue([for name in keys(var.hosts) : can(regex("^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$", name))])
    error_message = "hosts are ${join(", ", keys(var.hosts))}: a name has lower-case letters, digits, dots and dashes, as certificates and other hosts know it. Nothing was written."
  }
  validation {
    condition     = length(setsubtract(flatten([for host in values(var.hosts) : host.roles]), local.roles)) == 0
    error_message = "a host has the role ${join(", ", setsubtract(flatten([for host in values(var.hosts) : host.roles]), local.roles))}; known are ${join(", ", local.roles)}. Nothing was written."
  }
  validation {
    condition     = contains(var.kafka == null ? [1, 3, 5] : [0], length([for host in values(var.hosts) : host if contains(host.roles, "broker")]))
    error_message = "1, 3 or 5 hosts must have the role broker, of which 3 and 5 keep a majority when one is lost; none where 'kafka' names one that is elsewhere. Nothing was written."
  }
  validation {
    condition     = alltrue([for host in values(var.hosts) : host.broker_id != null if contains(host.roles, "broker")]) && length(distinct([for host in values(var.hosts) : host.broker_id if contains(host.roles, "broker")])) == length([for host in values(var.hosts) : host if contains(host.roles, "broker")])
    error_message = "each broker needs a broker_id of its own, which it keeps: its log is that of the number, not of the name. Nothing was written."
  }
  validation {
    condition     = alltrue([for host in values(var.hosts) : coalesce(host.broker_id, 1) >= 0 && floor(coalesce(host.broker_id, 1)) == coalesce(host.broker_id, 1)])
    error_message = "broker_id is ${join(", ", [for name, host in var.hosts : "${coalesce(host.broker_id, 1)} on ${name}" if host.broker_id != null])}, but Kafka numbers its brokers by whole numbers from 0 on. Nothing was written."
  }
  validation {
    condition     = length([for host in values(var.hosts) : host if contains(host.roles, "postgres")]) == (var.postgres == null ? 1 : 0)
    error_message = "one host, not more, has the role postgres; none where 'postgres' names one that is elsewhere. Nothing was written."
  }
  validation {
    condition     = contains(length([for host in values(var.hosts) : host if contains(host.roles, "zookeeper")]) > 0 ? [2, 3] : [1], length([for host in values(var.hosts) : host if contains(host.roles, "spark_master")]))
    error_message = "one host, not more, has the role spark_master; two or three have it where others have the role zookeeper, by which masters agree on who leads. Nothing was written."
  }
  validation {
    condition     = contains([0, 1, 3, 5], length([for host in values(var.hosts) : host if contains(host.roles, "zookeeper")]))
    error_message = "none, 1, 3 or 5 hosts have the role zookeeper, of which 3 and 5 keep a majority when one is lost. Nothing was written."
  }
  validation {
    condition     = length(distinct([for host in values(var.hosts) : coalesce(host.zookeeper_id, 0) if contains(host.roles, "zookeeper")])) == length([for host in values(var.hosts) : host if contains(host.roles, "zookeeper")]) && alltrue([for host in values(var.hosts) : coalesce(host.zookeeper_id, 0) >= 1 && coalesce(host.zookeeper_id, 0) <= 255 && floor(coalesce(host.zookeeper_id, 0)) == coalesce(host.zookeeper_id, 0) if contains(host.roles, "zookeeper")])
    error_message = "each host with the role zookeeper needs a zookeeper_id of its own, a whole number from 1 to 255, which it keeps. Nothing was written."
  }
  validation {
    condition     = length([for host in values(var.hosts) : host if contains(host.roles, "spark_worker")]) > 0 && alltrue([for host in [for host in values(var.hosts) : host if contains(host.roles, "spark_worker")] : host.cores >= 1 && floor(host.cores) == host.cores && host.memory_mb >= 2048 && floor(host.memory_mb) == host.memory_mb])
    error_message = "workers are ${join(", ", [for name, host in var.hosts : "${name} of ${host.cores} cores and ${host.memory_mb} MB" if contains(host.roles, "spark_worker")])}; at least one host must have the role spark_worker, each with 1 core and 2048 MB or more, in whole numbers: a driver needs that much. Nothing was written."
  }
  validation {
    condition     = length([for host in values(var.hosts) : host if contains(host.roles, "monitor")]) <= 1
    error_message = "one host at most has the role monitor: of two each would tell of every incident. Nothing was written."
  }
  validation {
    condition     = alltrue([for host in values(var.hosts) : host.roles == toset(["spark_worker"]) if host.many])
    error_message = "'many' is for a host with the role spark_worker and no other: only workers may come and go. Nothing was written."
  }
}

variable "kafka" {
  description = "A Kafka that is elsewhere, in the place of hosts with the role broker: its addresses, and on the hosts the file of the authority that vouches for it (empty: those of the system)."
  type = object({
    bootstrap = string
    ca        = optional(string, "")
  })
  default = null

  validation {
    condition     = var.kafka == null ? true : alltrue([for address in split(",", var.kafka.bootstrap) : can(regex("^[^ ]+:[0-9]+$", trimspace(address)))])
    error_message = "kafka.bootstrap is '${try(var.kafka.bootstrap, "")}', but must be addresses with their ports, parted by commas: b1.example.com:9096,b2.example.com:9096. Nothing was written."
  }
}

variable "postgres" {
  description = "A Postgres that is elsewhere, in the place of a host with the role postgres: its host name, and on the hosts the file of the authority that vouches for it (empty: those of the system)."
  type = object({
    host = string
    ca   = optional(string, "")
  })
  default = null

  validation {
    condition     = var.postgres == null ? true : can(regex("^[^ /]+$", var.postgres.host))
    error_message = "postgres.host is '${try(var.postgres.host, "")}', but must be the name by which the hosts find it, as its certificate has it. Nothing was written."
  }
}

variable "trusted_network" {
  description = "Whether nobody reads along between the hosts. Spark's submission server speaks no TLS: requests are signed, and could be seen."
  type        = bool
  default     = false

  validation {
    condition     = var.trusted_network || alltrue([for url in concat(var.spark_rest, var.spark_ui) : startswith(url, "https://")]) && length(var.spark_rest) > 0 && length(var.spark_ui) > 0
    error_message = "Spark's submission server and its pages speak no TLS. Put a proxy before them and name it (spark_rest, spark_ui: https://...), or say that nobody reads along: trusted_network = true. Nothing was written."
  }
}

variable "spark_rest" {
  description = "Addresses of proxies before the master's submission server; empty: the server itself."
  type        = list(string)
  default     = []
}

variable "spark_ui" {
  description = "Addresses of proxies before the master's page; empty: the page itself."
  type        = list(string)
  default     = []
}

variable "airflow_url" {
  description = "Address of Airflow's api-server."
  type        = string

  validation {
    condition     = startswith(var.airflow_url, "https://")
    error_message = "airflow_url is '${var.airflow_url}', but must begin with https://: people sign in there. Nothing was written."
  }
}

variable "airflow_ca" {
  description = "File, on the hosts, of the authority that issued Airflow's certificate; empty: one that everybody knows."
  type        = string
  default     = ""
}

variable "alert_targets" {
  description = "Whom the monitor tells of incidents, by name; the address of each is a private file of that name (docs/alerts.md)."
  type        = list(string)
  default     = []
}

variable "topic" {
  description = "The log, as in kafka_access."
  type = object({
    name            = optional(string, "ad_events")
    partitions      = optional(number, 6)
    retention_hours = optional(number, 168)
  })
  default = {}

  validation {
    condition     = alltrue([for number in [var.topic.partitions, var.topic.retention_hours] : number >= 1 && floor(number) == number])
    error_message = "topic.partitions is ${var.topic.partitions} and topic.retention_hours ${var.topic.retention_hours}, but both must be whole numbers from 1 on, the same as of the topic that is made (targets/local). Nothing was written."
  }
}

variable "store" {
  description = "Where checkpoints are kept, if not in the shared folder: s3a://BUCKET/PREFIX?endpoint=https://...&region=..., hdfs://NAMENODE:PORT/FOLDER?http=URL where nobody reads along (trusted_network), or a folder that every host sees."
  type        = string
  default     = ""

  validation {
    condition     = var.store == "" || can(regex("^(/|s3a://[^/?@]+([/?]|$))", var.store)) || (var.trusted_network && can(regex("^hdfs://[^/?@]+/[^?]+[?]http=https?://", var.store)))
    error_message = "store is '${replace(var.store, "/[^/]*@/", "...@")}', but must be s3a://BUCKET/PREFIX without keys, hdfs://NAMENODE:PORT/FOLDER?http=URL in a trusted_network, the absolute path of a folder, or empty: the shared folder. Nothing was written."
  }
}

variable "places" {
  description = "On the hosts: config has what is rendered for the host, secrets the passwords and keys, shared is mounted on all of them at the same path, data is the host's own disk."
  type = object({
    config  = optional(string, "/etc/kappa")
    secrets = optional(string, "/etc/kappa/secrets")
    shared  = optional(string, "/mnt/kappa")
    data    = optional(string, "/var/lib/kappa")
  })
  default = {}

  validation {
    condition     = alltrue([for place in values(var.places) : startswith(place, "/") && !strcontains(place, " ")])
    error_message = "places are ${join(", ", values(var.places))}, but must be absolute paths without spaces. Nothing was written."
  }
}

variable "programs" {
  description = "On the hosts: Java 17 or newer, the folder of Spark (of the package pyspark), that of the broker's jars, that of Postgres, a folder on the PATH with the Python that runs the jobs, and the command kappa."
  type = object({
    java     = optional(string, "/usr/bin/java")
    spark    = optional(string, "/opt/kappa/spark")
    kafka    = optional(string, "/opt/kappa/kafka")
    postgres = optional(string, "/usr/lib/postgresql/18")
    python   = optional(string, "/opt/kappa/venv/bin")
    command  = optional(string, "/opt/kappa/venv/bin/kappa")
  })
  default = {}
}

variable "heap_mb" {
  description = "Of each broker, of ZooKeeper, and of Spark's masters and workers themselves, the heap in MB; drivers and executors have what a deployment gives them."
  type = object({
    broker    = optional(number, 1024)
    zookeeper = optional(number, 256)
    master    = optional(number, 256)
    worker    = optional(number, 256)
  })
  default = {}

  validation {
    condition     = alltrue([for mb in values(var.heap_mb) : mb >= 256 && floor(mb) == mb])
    error_message = "heap_mb is ${join(", ", [for role, mb in var.heap_mb : "${role} ${mb}"])}, but must be whole numbers from 256 on: with less none of them was ever run. Nothing was written."
  }
}

variable "users" {
  description = "Who runs the programs: kappa runs Kafka and Spark and may read the secrets, postgres runs Postgres, which refuses root."
  type = object({
    kappa    = optional(string, "kappa")
    postgres = optional(string, "postgres")
  })
  default = {}
}

variable "output" {
  description = "Folder on this machine that is written: hosts/NAME and given/NAME for each host, secrets and authority for no host: they are what secrets are taken from. null: nothing is written, and the output 'files' is for whoever carries them there."
  type        = string
  default     = null

  validation {
    condition     = var.output == null ? true : startswith(var.output, "/")
    error_message = "output is '${coalesce(var.output, "null")}', but must be an absolute path: passwords are made from within the checkout, where another one would be somewhere else. Nothing was written."
  }
}

variable "maker" {
  description = "On this machine: the checkout and its Python, which make passwords and certificates in 'output'. null: they are made elsewhere."
  type = object({
    checkout = string
    python   = string
  })
  default = null

  validation {
    condition     = var.maker == null || var.output != null
    error_message = "maker is given without output: secrets need a folder. Nothing was written."
  }
}
