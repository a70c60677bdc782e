"""DAGs of one's own, beside those of the project."""
