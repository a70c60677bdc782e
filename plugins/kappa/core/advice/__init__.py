"""Advice on the size of a version: what was measured, what follows, and what may follow by itself."""
