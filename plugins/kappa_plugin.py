"""Tells an Airflow whose plugins folder this is of the project's plugin."""

from kappa.airflow.plugin import KappaPlugin

__all__ = ["KappaPlugin"]
