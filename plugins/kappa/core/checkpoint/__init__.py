"""A Spark checkpoint as files: read, copied, restored."""
