# The arithmetic of docs/sizing.md, by hand.

run "a_small_installation" {
  command = plan
  variables {
    events_per_second = 100
    retention_days    = 7
  }

  assert {
    # 100 x 3 x 3 / 12,000 is less than a core; 1 x 4 / 3, rounded up to threes, is 6 at least.
    condition     = output.job.cores == 1 && output.topic.partitions == 6 && output.brokers.count == 3
    error_message = "cores, partitions or brokers"
  }
  assert {
    # 300 a second for 126 minutes.
    condition     = output.job.state_events == 2268000
    error_message = "what the state holds"
  }
  assert {
    # Those by 150 bytes, for 2 jobs, 3 times each, on disks that are 70 % full: 2.9 GB.
    condition     = output.disk_gb.shared == 3
    error_message = "what the checkpoints take"
  }
  assert {
    # 100 x 86,400 x 7 x 250 bytes are 15.1 GB, three times, on disks that are 70 % full: 64.8.
    condition     = output.disk_gb.log == 65
    error_message = "the log's disk"
  }
}

run "many_events_are_many_cores_and_more_brokers" {
  command = plan
  variables {
    events_per_second = 20000
    retention_days    = 7
  }

  assert {
    # 20,000 x 3 x 3 / 12,000.
    condition     = output.job.cores == 15 && output.topic.partitions == 60 && output.workers.cores == 60
    error_message = "cores do not follow the events"
  }
  assert {
    # 60,000 x 250 x 6 bytes a second are 90 MB: 5 brokers of 20 MB.
    condition     = output.brokers.count == 5
    error_message = "brokers do not follow the load, or are even in number"
  }
}

run "longer_retention_is_disk_and_nothing_else" {
  command = plan
  variables {
    events_per_second = 100
    retention_days    = 70
  }

  assert {
    condition     = output.disk_gb.log == 648 && output.job.cores == 1 && output.topic.retention_hours == 1680
    error_message = "retention changes something else than the log's disk"
  }
}

run "more_lateness_is_state_and_nothing_else" {
  command = plan
  variables {
    events_per_second = 100
    retention_days    = 7
    lateness_minutes  = 1254
  }

  assert {
    condition     = output.job.state_events == 22680000 && output.disk_gb.log == 65
    error_message = "lateness changes something else than the state"
  }
}

run "no_events_are_refused" {
  command = plan
  variables {
    events_per_second = 0
    retention_days    = 7
  }
  expect_failures = [var.events_per_second]
}

run "no_retention_is_refused" {
  command = plan
  variables {
    events_per_second = 1
    retention_days    = 0
  }
  expect_failures = [var.retention_days]
}

run "more_lateness_than_a_job_takes_is_refused" {
  command = plan
  variables {
    events_per_second = 1
    retention_days    = 1
    lateness_minutes  = 4321
  }
  expect_failures = [var.lateness_minutes]
}
