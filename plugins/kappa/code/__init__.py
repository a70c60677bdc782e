"""Which code a job runs: artifacts, their digests, and what differs between two of them."""
