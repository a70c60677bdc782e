"""The verb rescale."""
