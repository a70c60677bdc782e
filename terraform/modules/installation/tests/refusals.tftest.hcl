# What is refused, and by which variable. Planned only, as in installation.tftest.hcl.
mock_provider "local" {}

variables {
  hosts = {
    k1 = { roles = ["broker"], broker_id = 1 }
    k2 = { roles = ["broker"], broker_id = 2 }
    k3 = { roles = ["broker"], broker_id = 3 }
    pg = { roles = ["postgres"] }
    m1 = { roles = ["spark_master", "airflow"] }
    w1 = { roles = ["spark_worker"], cores = 8, memory_mb = 16384 }
  }
  trusted_network = true
  airflow_url     = "https://airflow.example.com"
  output          = "/nowhere"
  maker           = { checkout = "/nowhere", python = "python3" }
}

run "a_heap_that_is_too_small_is_refused" {
  command = plan
  variables {
    heap_mb = { broker = 128 }
  }
  expect_failures = [var.heap_mb]
}

run "two_brokers_are_refused" {
  command = plan
  variables {
    hosts = {
      k1 = { roles = ["broker"], broker_id = 1 }
      k2 = { roles = ["broker"], broker_id = 2 }
      pg = { roles = ["postgres", "spark_master", "spark_worker"] }
    }
  }
  expect_failures = [var.hosts]
}

run "a_second_monitor_is_refused" {
  command = plan
  variables {
    hosts = {
      k1 = { roles = ["broker", "monitor"], broker_id = 1 }
      pg = { roles = ["postgres", "spark_master", "spark_worker", "monitor"] }
    }
  }
  expect_failures = [var.hosts]
}

run "brokers_of_one_number_are_refused" {
  command = plan
  variables {
    hosts = {
      k1 = { roles = ["broker"], broker_id = 1 }
      k2 = { roles = ["broker"], broker_id = 1 }
      k3 = { roles = ["broker"], broker_id = 3 }
      pg = { roles = ["postgres", "spark_master", "spark_worker"] }
    }
  }
  expect_failures = [var.hosts]
}

run "a_second_master_is_refused" {
  command = plan
  variables {
    hosts = {
      k1 = { roles = ["broker", "spark_master"], broker_id = 1 }
      pg = { roles = ["postgres", "spark_master", "spark_worker"] }
    }
  }
  expect_failures = [var.hosts]
}

run "a_zookeeper_without_a_second_master_is_refused" {
  command = plan
  variables {
    hosts = {
      k1 = { roles = ["broker", "zookeeper"], broker_id = 1, zookeeper_id = 1 }
      pg = { roles = ["postgres", "spark_master", "spark_worker"] }
    }
  }
  expect_failures = [var.hosts]
}

run "two_zookeepers_are_refused" {
  command = plan
  variables {
    hosts = {
      k1 = { roles = ["broker", "zookeeper", "spark_master"], broker_id = 1, zookeeper_id = 1 }
      pg = { roles = ["postgres", "zookeeper", "spark_master", "spark_worker"], zookeeper_id = 2 }
    }
  }
  expect_failures = [var.hosts]
}

run "zookeepers_of_one_number_are_refused" {
  command = plan
  variables {
    hosts = {
      k1 = { roles = ["broker", "zookeeper", "spark_master"], broker_id = 1, zookeeper_id = 1 }
      pg = { roles = ["postgres", "zookeeper", "spark_master", "spark_worker"], zookeeper_id = 1 }
      z1 = { roles = ["zookeeper"], zookeeper_id = 3 }
    }
  }
  expect_failures = [var.hosts]
}

run "a_zookeeper_without_a_number_is_refused" {
  command = plan
  variables {
    hosts = {
      k1 = { roles = ["broker", "zookeeper", "spark_master"], broker_id = 1 }
      pg = { roles = ["postgres", "spark_master", "spark_worker"] }
    }
  }
  expect_failures = [var.hosts]
}

run "an_unknown_role_is_refused" {
  command = plan
  variables {
    hosts = {
      k1 = { roles = ["broker", "elector"], broker_id = 1 }
      pg = { roles = ["postgres", "spark_master", "spark_worker"] }
    }
  }
  expect_failures = [var.hosts]
}

run "no_worker_is_refused" {
  command = plan
  variables {
    hosts = { k1 = { roles = ["broker", "postgres", "spark_master"], broker_id = 1 } }
  }
  expect_failures = [var.hosts]
}

run "a_name_that_no_certificate_can_have_is_refused" {
  command = plan
  variables {
    hosts = { "K 1" = { roles = ["broker", "postgres", "spark_master", "spark_worker"], broker_id = 1 } }
  }
  expect_failures = [var.hosts]
}

run "sparks_plain_server_is_refused_unless_the_network_is_trusted" {
  command = plan
  variables {
    trusted_network = false
  }
  expect_failures = [var.trusted_network]
}

run "a_plain_airflow_is_refused" {
  command = plan
  variables {
    airflow_url = "http://airflow.example.com"
  }
  expect_failures = [var.airflow_url]
}

run "a_place_that_is_not_absolute_is_refused" {
  command = plan
  variables {
    places = { shared = "mnt" }
  }
  expect_failures = [var.places]
}

run "a_broker_beside_a_kafka_that_is_elsewhere_is_refused" {
  command = plan
  variables {
    kafka = { bootstrap = "b1.example.com:9096" }
  }
  expect_failures = [var.hosts]
}

run "a_master_that_comes_and_goes_is_refused" {
  command = plan
  variables {
    hosts = {
      k1 = { roles = ["broker", "postgres"], broker_id = 1 }
      m1 = { roles = ["spark_master", "spark_worker"], many = true }
    }
  }
  expect_failures = [var.hosts]
}

run "secrets_without_a_folder_are_refused" {
  command = plan
  variables {
    output = null
  }
  expect_failures = [var.maker]
}

run "half_a_core_is_refused" {
  command = plan
  variables {
    hosts = {
      k1 = { roles = ["broker"], broker_id = 1 }
      pg = { roles = ["postgres", "spark_master", "spark_worker"], cores = 1.5 }
    }
  }
  expect_failures = [var.hosts]
}

run "a_broker_s_number_is_a_whole_one" {
  command = plan
  variables {
    hosts = {
      k1 = { roles = ["broker"], broker_id = 1.5 }
      pg = { roles = ["postgres", "spark_master", "spark_worker"] }
    }
  }
  expect_failures = [var.hosts]
}

run "a_kafka_elsewhere_without_an_address_is_refused" {
  command = plan
  variables {
    hosts = { m1 = { roles = ["postgres", "spark_master", "spark_worker"] } }
    kafka = { bootstrap = "" }
  }
  expect_failures = [var.kafka]
}

run "a_kafka_elsewhere_without_a_port_is_refused" {
  command = plan
  variables {
    hosts = { m1 = { roles = ["postgres", "spark_master", "spark_worker"] } }
    kafka = { bootstrap = "b1.example.com:9096,b2.example.com" }
  }
  expect_failures = [var.kafka]
}

run "a_postgres_elsewhere_without_a_name_is_refused" {
  command = plan
  variables {
    hosts = {
      k1 = { roles = ["broker"], broker_id = 1 }
      m1 = { roles = ["spark_master", "spark_worker"] }
    }
    postgres = { host = "" }
  }
  expect_failures = [var.postgres]
}

run "a_topic_without_partitions_is_refused" {
  command = plan
  variables {
    topic = { partitions = 0 }
  }
  expect_failures = [var.topic]
}

run "half_an_hour_of_retention_is_refused" {
  command = plan
  variables {
    topic = { retention_hours = 0.5 }
  }
  expect_failures = [var.topic]
}

run "hdfs_where_somebody_may_read_along_is_refused" {
  command = plan
  variables {
    trusted_network = false
    spark_rest      = ["https://m1.example.com:6066"]
    spark_ui        = ["https://m1.example.com:8080"]
    store           = "hdfs://nn.example.com:8020/kappa?http=http://nn.example.com:9870"
  }
  expect_failures = [var.store]
}

run "hdfs_without_the_address_of_webhdfs_is_refused" {
  command = plan
  variables {
    store = "hdfs://nn.example.com:8020/kappa"
  }
  expect_failures = [var.store]
}

run "a_store_of_another_scheme_is_refused" {
  command = plan
  variables {
    store = "s3://bucket/prefix"
  }
  expect_failures = [var.store]
}

run "a_store_that_holds_a_key_is_refused" {
  command = plan
  variables {
    store = "s3a://key:word@bucket/prefix"
  }
  expect_failures = [var.store]
}

run "a_folder_that_is_not_absolute_is_no_store" {
  command = plan
  variables {
    store = "checkpoints"
  }
  expect_failures = [var.store]
}

run "an_output_that_is_not_absolute_is_refused" {
  command = plan
  variables {
    output = "made"
  }
  expect_failures = [var.output]
}
