"""What each verb can be asked: the form in Airflow, the run that reads it and the command are made from these."""
