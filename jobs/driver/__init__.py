"""The driver of a version: runs its query, beats, and ends when it should."""
