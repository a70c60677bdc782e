"""The control plane: version states, plans, hooks to the outside, idempotent steps, and what Airflow adds
to them."""
