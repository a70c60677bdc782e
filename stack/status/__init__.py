"""What status shows: the services, the jobs, the replays, and what is away."""
