"""The services of the embedded stack: how each is configured, started and known to be ready."""
