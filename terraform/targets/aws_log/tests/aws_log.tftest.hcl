# Planned only: no cluster is contacted.
mock_provider "kafka" {}

variables {
  bootstrap = ["b-1.example.amazonaws.com:9098"]
  region    = "eu-central-1"
}

run "topic_and_rights_are_made_and_no_user" {
  command = plan

  assert {
    condition     = module.kafka_access.topic == "ad_events" && length(module.kafka_access.users) == 0
    error_message = "another topic, or users that MSK refuses"
  }
}

run "the_port_of_the_users_is_refused" {
  command = plan
  variables {
    bootstrap = ["b-1.example.amazonaws.com:9096"]
  }
  expect_failures = [var.bootstrap]
}

run "a_region_that_is_none_is_refused" {
  command = plan
  variables {
    region = "Frankfurt"
  }
  expect_failures = [var.region]
}
