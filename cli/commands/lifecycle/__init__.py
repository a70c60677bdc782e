"""The commands that act on jobs: each starts a DAG, or runs the same plan in place, and follows it to its end."""
