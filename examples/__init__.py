"""Worked examples: the demo, and files to begin with."""
