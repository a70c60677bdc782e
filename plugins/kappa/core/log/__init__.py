"""The log: what its topic is and must be, how far it reaches, and when a record was appended."""
