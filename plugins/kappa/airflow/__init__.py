"""What runs inside Airflow: tasks, operators, triggers and forms around the steps."""
