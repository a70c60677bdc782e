variable "topic" {
  description = "The log: name, partitions (fixed for the topic's life), hours that a record is kept, and copies of each."
  type = object({
    name               = optional(string, "ad_events")
    partitions         = optional(number, 6)
    retention_hours    = optional(number, 168)
    replication_factor = optional(number, 3)
  })
  default = {}

  validation {
    condition     = can(regex("^[a-zA-Z0-9._-]{1,249}$", var.topic.name)) && !contains([".", ".."], var.topic.name)
    error_message = "topic.name is '${var.topic.name}', but a name in Kafka has 1 to 249 letters, digits, dots, dashes and underscores. Nothing was changed: choose another name."
  }
  validation {
    condition     = var.topic.partitions >= 1 && floor(var.topic.partitions) == var.topic.partitions
    error_message = "topic.partitions is ${var.topic.partitions}, but must be a whole number from 1 on. Nothing was changed: terraform/modules/sizing says how many."
  }
  validation {
    condition     = var.topic.retention_hours >= 1 && floor(var.topic.retention_hours) == var.topic.retention_hours
    error_message = "topic.retention_hours is ${var.topic.retention_hours}, but must be a whole number from 1 on: a replay reaches no further back than the log. Nothing was changed."
  }
  validation {
    condition     = var.topic.replication_factor >= 1 && floor(var.topic.replication_factor) == var.topic.replication_factor
    error_message = "topic.replication_factor is ${var.topic.replication_factor}, but must be a whole number from 1 on, and not more than there are brokers. Nothing was changed."
  }
}

variable "make_users" {
  description = "Whether users are made here, by the broker. false where it knows them from elsewhere, as MSK does: topic, rights and quotas are made for them."
  type        = bool
  default     = true
}

variable "passwords" {
  description = "Password of each user. Handed to the broker and kept nowhere: not in the state, nor in a plan."
  type        = map(string)
  default     = {}
  ephemeral   = true

  validation {
    condition     = !var.make_users || length(setsubtract(keys(local.rights.topic), keys(var.passwords))) == 0
    error_message = "passwords must have one for each of kafka_producer, kafka_stream, kafka_control and kafka_reader. Nothing was changed."
  }
  validation {
    condition     = alltrue([for password in values(var.passwords) : length(password) >= 16])
    error_message = "a password has fewer than 16 characters: whoever can reach the broker may try them all. Nothing was changed."
  }
}

variable "password_versions" {
  description = "By user, any text. A new one hands the user's password to the broker again: the broker tells nobody which one it holds, so that nothing else shows a change."
  type        = map(string)
  default     = {}

  validation {
    condition     = length(setsubtract(keys(var.password_versions), keys(local.rights.topic))) == 0
    error_message = "password_versions names somebody else than ${join(", ", keys(local.rights.topic))}. Nothing was changed."
  }
}

variable "quotas" {
  description = "By user, the bytes per second that each broker takes from him or gives him; who is not named has no limit."
  type = map(object({
    producer_byte_rate = optional(number)
    consumer_byte_rate = optional(number)
  }))
  default = {}

  validation {
    condition     = length(setsubtract(keys(var.quotas), keys(local.rights.topic))) == 0
    error_message = "quotas names somebody else than ${join(", ", keys(local.rights.topic))}. Nothing was changed."
  }
  validation {
    condition     = alltrue(flatten([for quota in values(var.quotas) : [for rate in values(quota) : coalesce(rate, 1048576) >= 1048576]]))
    error_message = "a quota is below 1 MiB per second (1048576): a single batch would be held up for seconds. Nothing was changed."
  }
}
