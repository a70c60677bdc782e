"""What docker-compose.yml runs: the names of its parts, what each of them is given, and its init jobs."""
