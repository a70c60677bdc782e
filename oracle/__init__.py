"""The oracle: what must be served, recomputed from the topic itself by code that shares nothing with the
jobs."""
