"""What wakes Airflow: triggers that wait for something outside of it."""
