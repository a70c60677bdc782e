variable "bootstrap" {
  description = "Addresses of Kafka, host:port: those of the embedded stack, or of any that runs."
  type        = list(string)

  validation {
    condition     = length(var.bootstrap) > 0 && alltrue([for address in var.bootstrap : can(regex("^[^:/ ]+:[0-9]+$", address))])
    error_message = "bootstrap is [${join(", ", var.bootstrap)}], but must be addresses like host:9092. Nothing was contacted."
  }
}

variable "protocol" {
  description = "How Kafka is talked to; SASL_PLAINTEXT on this machine only."
  type        = string
  default     = "SASL_SSL"

  validation {
    condition     = contains(["SASL_SSL", "SASL_PLAINTEXT"], var.protocol)
    error_message = "protocol is '${var.protocol}', but must be SASL_SSL or SASL_PLAINTEXT: without a sign-in there are no users to give rights to. Nothing was contacted."
  }
  validation {
    condition     = var.protocol == "SASL_SSL" || alltrue([for address in var.bootstrap : can(regex("^(127\\.[0-9.]+|localhost):", address))])
    error_message = "protocol is SASL_PLAINTEXT, and bootstrap names an address that is not loopback: the passwords would be read on the way. Nothing was contacted: use SASL_SSL."
  }
}

variable "ca" {
  description = "File of the certificate authority that vouches for Kafka; empty: those of the system."
  type        = string
  default     = ""
}

variable "secrets" {
  description = "Folder of the password files, one a user, that './kappa up' or terraform/modules/installation makes. Only its path is kept."
  type        = string

  validation {
    condition     = fileexists("${var.secrets}/kafka_admin.properties")
    error_message = "there is no file kafka_admin.properties in '${var.secrets}': its user makes topic, users and rights. Nothing was contacted: name the secrets folder."
  }
}

variable "topic" {
  description = "The log (terraform/modules/kafka_access)."
  type = object({
    name               = optional(string, "ad_events")
    partitions         = optional(number, 6)
    retention_hours    = optional(number, 168)
    replication_factor = optional(number, 1)
  })
  default = {}
}

variable "adopt" {
  description = "Whether the topic is there already, made by somebody else: then it is taken over as it is. Harmless once it was."
  type        = bool
  default     = false
}

variable "password_versions" {
  description = "A new text hands a user's password to the broker again."
  type        = map(string)
  default     = {}
}

variable "quotas" {
  description = "Bytes per second by user. Anybody's own consumers may not take the broker from the streams."
  type = map(object({
    producer_byte_rate = optional(number)
    consumer_byte_rate = optional(number)
  }))
  default = {
    kafka_reader = { consumer_byte_rate = 104857600 }
  }
}
