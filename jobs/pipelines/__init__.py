"""What the jobs of the catalogue compute, topology only: `windowed` for those with windows, and `quarantine`."""
