"""The project's one plugin of Airflow: what the api-server serves beside its own pages."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from airflow.sdk.plugins_manager import AirflowPlugin


class KappaPlugin(AirflowPlugin):
    """Adds `/kappa` to the api-server.

    Every task's process and the scheduler load plugins, too, so the application is made where it is asked for.
    """

    name = "kappa"

    @cached_property
    def fastapi_apps(self) -> list[Any]:  # type: ignore[override]
        """The application below `/kappa`."""
        from kappa.airflow.code_route import app

        return [{"app": app, "url_prefix": "/kappa", "name": "Kappa Ads"}]
