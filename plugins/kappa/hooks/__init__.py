"""Hooks: how to talk to the registry and to the cluster; what to say is decided elsewhere."""
