"""The database as a whole: its backups, and the programs of Postgres that make them."""
