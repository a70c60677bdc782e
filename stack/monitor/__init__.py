"""The monitor: a process that looks at the whole installation, tells who is to be told, and serves metrics."""
