"""The values that several folders use: settings, catalogue, fates, the log, checkpoints; free of Spark and Airflow."""
