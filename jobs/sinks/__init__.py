"""Where results go: one Postgres transaction per micro-batch, fenced, joined to the last one and entered twice."""
