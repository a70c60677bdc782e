"""What is seen of the streams, read from Postgres for people: by the command `status`, and by the console."""
