"""A version's driver, and the finite Spark programs: how they are submitted, started and known to work."""
