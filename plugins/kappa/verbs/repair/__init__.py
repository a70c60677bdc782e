"""The verb repair."""
