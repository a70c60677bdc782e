"""The console inside Airflow: pages that show what the streams do, and change nothing."""
