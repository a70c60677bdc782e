# Files in the place of the passwords, for the tests: nothing signs in with them.

locals {
  given = jsondecode(file("${path.module}/../../secrets.json"))
  files = toset(concat(
    flatten(values(local.given)),
    ["ca.pem", "postgres.pgpass", "tls/airflow.kappa.internal.crt", "tls/airflow.kappa.internal.key"],
    [for user in ["producer", "stream", "control", "reader"] : "kafka_${user}.properties"],
  ))
}

resource "local_file" "secret" {
  for_each = local.files

  filename = "${var.folder}/${each.key}"
  content  = endswith(each.key, ".properties") ? "sasl.username=somebody\nsasl.password=of-a-test-only\n" : "somewhere:*:*:somebody:of-a-test-only\n"
}
