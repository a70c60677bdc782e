"""Replays and releases in Postgres."""
