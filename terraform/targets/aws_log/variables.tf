variable "bootstrap" {
  description = "Addresses by which topic and rights are made: log.bootstrap of targets/aws, on port 9098."
  type        = list(string)

  validation {
    condition     = length(var.bootstrap) > 0 && alltrue([for address in var.bootstrap : can(regex("^[^:/ ]+:9098$", address))])
    error_message = "bootstrap is [${join(", ", var.bootstrap)}], but must be addresses like host:9098, which is MSK's port for who signs in by IAM. Nothing was contacted."
  }
}

variable "region" {
  description = "Region of AWS that the cluster is in."
  type        = string

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]$", var.region))
    error_message = "region is '${var.region}', but must be one like eu-central-1. Nothing was contacted."
  }
}

variable "topic" {
  description = "The log (terraform/modules/kafka_access): log.topic of targets/aws."
  type = object({
    name               = optional(string, "ad_events")
    partitions         = optional(number, 6)
    retention_hours    = optional(number, 168)
    replication_factor = optional(number, 3)
  })
  default = {}
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
