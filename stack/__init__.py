"""The embedded stack: Kafka, Postgres, Spark and Airflow on one machine, kept by a supervisor, all state in one folder."""
