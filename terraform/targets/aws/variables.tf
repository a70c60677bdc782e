variable "name" {
  description = "Of the installation: begins the name of all that is made. Two installations of one account have two."
  type        = string
  default     = "kappa"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,19}$", var.name)) && !endswith(var.name, "-")
    error_message = "name is '${var.name}', but must be 2 to 20 lower-case letters, digits and dashes, a letter first and no dash last: it begins the names of buckets and databases. Nothing was made."
  }
}

variable "region" {
  description = "Region of AWS, with three availability zones or more."
  type        = string

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]$", var.region))
    error_message = "region is '${var.region}', but must be one like eu-central-1. Nothing was made."
  }
}

variable "network" {
  description = "Addresses of the network, a /16 to /20 that nothing else of yours uses."
  type        = string
  default     = "10.71.0.0/16"

  validation {
    condition     = can(cidrnetmask(var.network)) && try(tonumber(split("/", var.network)[1]) >= 16 && tonumber(split("/", var.network)[1]) <= 20, false)
    error_message = "network is '${var.network}', but must be a block of addresses like 10.71.0.0/16, from /16 to /20. Nothing was made."
  }
  validation {
    condition     = can(regex("^(10\\.|192\\.168\\.|172\\.(1[6-9]|2[0-9]|3[01])\\.)", var.network))
    error_message = "network is '${var.network}', which is none of the private blocks (10/8, 172.16/12, 192.168/16). Nothing was made."
  }
}

variable "load" {
  description = "What one knows, and sizes follow from (terraform/modules/sizing)."
  type = object({
    events_per_second = number
    retention_days    = number
    lateness_minutes  = optional(number, 120)
    ads               = optional(number, 500)
  })
}

variable "secrets" {
  description = "Folder on this machine with the password files, which stack.provisioning.host_secrets made. Only its path is kept."
  type        = string

  validation {
    condition     = length(setsubtract(local.secret_files, [for file in local.secret_files : file if fileexists("${var.secrets}/${file}")])) == 0
    error_message = "in '${var.secrets}' there is no ${join(", ", setsubtract(local.secret_files, [for file in local.secret_files : file if fileexists("${var.secrets}/${file}")]))}. Nothing was made: targets/aws/README.md says how passwords and certificates are made first."
  }
}

variable "image" {
  description = "Machine image of all hosts (x86_64), with what README.md lists: Java, Spark, the Python of the jobs, the AWS command line, EFS's mount helper, RDS's authority."
  type        = string

  validation {
    condition     = can(regex("^ami-[0-9a-f]{8,17}$", var.image))
    error_message = "image is '${var.image}', but must be the id of a machine image, like ami-0123456789abcdef0. Nothing was made."
  }
}

variable "worker" {
  description = "Of each worker of Spark: its kind, and what of its cores and memory Spark may give away. count: how many; null: as many as the load needs."
  type = object({
    type      = optional(string, "m7i.xlarge")
    cores     = optional(number, 4)
    memory_mb = optional(number, 13312)
    count     = optional(number)
  })
  default = {}

  validation {
    condition     = var.worker.cores >= 1 && var.worker.memory_mb >= 2048
    error_message = "worker offers ${var.worker.cores} cores and ${var.worker.memory_mb} MB, but a driver needs 1 core and 2048 MB or more. Nothing was made."
  }
  validation {
    condition     = coalesce(var.worker.count, 2) >= 1 && coalesce(var.worker.count, 2) <= 100
    error_message = "worker.count is ${coalesce(var.worker.count, 2)}, but must be from 1 to 100. Nothing was made."
  }
  validation {
    condition     = can(regex("^[a-z0-9-]+\\.[a-z0-9-]+$", var.worker.type)) && !can(regex("^[a-z]+[0-9]+g[a-z]*\\.", var.worker.type))
    error_message = "worker.type is '${var.worker.type}', but must be a kind of machine with x86_64, like m7i.xlarge: what jobs are built of is built for it. Nothing was made."
  }
}

variable "kafka_version" {
  description = "Version of MSK, with KRaft."
  type        = string
  default     = "4.0.x.kraft"

  validation {
    condition     = can(regex("^(3\\.[89]|[4-9]\\.[0-9]+)\\.(x|[0-9]+)\\.kraft$", var.kafka_version))
    error_message = "kafka_version is '${var.kafka_version}', but must be 3.8 or newer with KRaft, like 4.0.x.kraft. Nothing was made."
  }
}

variable "postgres_version" {
  description = "Version of RDS for PostgreSQL: 18, which the code was tried with."
  type        = string
  default     = "18"

  validation {
    condition     = can(regex("^1[89](\\.[0-9]+)?$", var.postgres_version))
    error_message = "postgres_version is '${var.postgres_version}', but must be 18 or newer. Nothing was made."
  }
}

variable "keep" {
  description = "Whether the database and the bucket refuse to be deleted, and a last snapshot is taken. false for a trial only."
  type        = bool
  default     = true
}

variable "places" {
  description = "On the hosts, as in terraform/modules/installation."
  type = object({
    config  = optional(string, "/etc/kappa")
    secrets = optional(string, "/etc/kappa/secrets")
    shared  = optional(string, "/mnt/kappa")
    data    = optional(string, "/var/lib/kappa")
  })
  default = {}
}

variable "database_authority" {
  description = "On the hosts, the file of the authority that vouches for RDS: its global bundle, which is none of the system's."
  type        = string
  default     = "/opt/kappa/rds-global-bundle.pem"

  validation {
    condition     = startswith(var.database_authority, "/")
    error_message = "database_authority is '${var.database_authority}', but must be an absolute path on the hosts. Nothing was made."
  }
}
