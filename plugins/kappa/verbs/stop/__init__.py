"""The verb stop."""
