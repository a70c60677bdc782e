# What the module checks, and what it is for, stands in ../../modules/installation/variables.tf.

variable "hosts" {
  description = "By name, as the others find it: what runs there. broker_id and zookeeper_id are the host's numbers in Kafka and in ZooKeeper, for good; cores and memory_mb are what a worker of Spark offers."
  type = map(object({
    roles        = set(string)
    broker_id    = optional(number)
    zookeeper_id = optional(number)
    cores        = optional(number, 4)
    memory_mb    = optional(number, 4096)
  }))
}

variable "trusted_network" {
  description = "Whether nobody reads along between the hosts. Spark's submission server speaks no TLS: requests are signed, and could be seen."
  type        = bool
  default     = false
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
}

variable "store" {
  description = "Where checkpoints are kept, if not in the shared folder: s3a://BUCKET/PREFIX?endpoint=https://...&region=..., hdfs://NAMENODE:PORT/FOLDER?http=URL where nobody reads along (trusted_network), or a folder that every host sees."
  type        = string
  default     = ""
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
  description = "Folder on this machine that is written: hosts/NAME and given/NAME for each host, secrets and authority for no host: they are what secrets are taken from."
  type        = string
}

variable "maker" {
  description = "On this machine: the checkout and its Python, which make passwords and certificates."
  type = object({
    checkout = string
    python   = string
  })
}
