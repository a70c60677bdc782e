"""The registry: its ports, and both of them in Postgres."""
