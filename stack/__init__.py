"""The embedded stack: Kafka, Postgres, Spark, Airflow on one machine, supervised, state in one folder."""
