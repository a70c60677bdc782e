variable "events_per_second" {
  description = "Records that arrive in a second, over a day."
  type        = number

  validation {
    condition     = var.events_per_second > 0 && var.events_per_second <= 200000
    error_message = "events_per_second is ${var.events_per_second}, but must be above 0 and at most 200,000: nothing above 41,000 records a second was ever measured, and this reckons no further from it."
  }
}

variable "retention_days" {
  description = "Days that the log is kept: a replay reaches so far back, and an outage may last so long."
  type        = number

  validation {
    condition     = var.retention_days >= 1 && var.retention_days <= 3650
    error_message = "retention_days is ${var.retention_days}, but must be from 1 to 3650."
  }
}

variable "lateness_minutes" {
  description = "Allowed lateness: how long after it happened an event may be appended and still count."
  type        = number
  default     = 120

  validation {
    condition     = var.lateness_minutes >= 0 && var.lateness_minutes <= 4320
    error_message = "lateness_minutes is ${var.lateness_minutes}, but must be from 0 to 4320 (the setting allowed_lateness_ms goes no further)."
  }
}

variable "peak" {
  description = "How many times as many arrive in the busiest hour as over a day."
  type        = number
  default     = 3

  validation {
    condition     = var.peak >= 1
    error_message = "peak is ${var.peak}, but the busiest hour has no fewer than the mean: 1 or more."
  }
}

variable "growth" {
  description = "How many times as much it may become in the life of the topic, whose partitions stay as they are."
  type        = number
  default     = 4

  validation {
    condition     = var.growth >= 1
    error_message = "growth is ${var.growth}, but must be 1 or more."
  }
}

variable "ads" {
  description = "Ads that get an event in a usual minute: each is a served row a minute."
  type        = number
  default     = 500

  validation {
    condition     = var.ads >= 1
    error_message = "ads is ${var.ads}, but must be 1 or more."
  }
}

variable "prices" {
  description = "What a core, a GB of memory and a GB of disk cost a month, in any currency."
  type = object({
    core      = optional(number, 25)
    memory_gb = optional(number, 3)
    disk_gb   = optional(number, 0.1)
  })
  default = {}
}
