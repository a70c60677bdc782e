"""Figures of a running stack: each module is a command of its own (bench/README.md); no test depends on them."""
