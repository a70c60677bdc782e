"""What is played into the log: sources of records, the pace, and the producer at the edge."""
