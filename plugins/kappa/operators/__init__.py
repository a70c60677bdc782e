"""What Airflow adds: the form, the conduct of a run, and the refusals that no retry can cure."""
