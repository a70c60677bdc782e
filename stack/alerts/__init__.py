"""Somebody is woken: what of a look at the installation is an incident, who is told of it, and when."""
