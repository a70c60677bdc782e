"""Steps: idempotent acts over the ports; each may be killed at any point and run again."""
