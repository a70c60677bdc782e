"""The project's one plugin of Airflow: what the api-server serves beside its own pages, and where it is shown."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from airflow.sdk.plugins_manager import AirflowPlugin

PAGE = "kappa/console/"
"""From Airflow's own root on: without a leading slash it also holds below a path."""


class KappaPlugin(AirflowPlugin):
    """Adds `/kappa` to the api-server, the page "Streams" to the navigation, and a tab of that name to DAGs.

    Every task's process and the scheduler load plugins, too, so the application is made where it is asked for.
    """

    name = "kappa"
    external_views = [
        {"name": "Streams", "href": PAGE, "destination": "nav", "nav_top_level": True, "url_route": "streams"},
        {"name": "Streams", "href": f"{PAGE}?dag={{DAG_ID}}", "destination": "dag", "url_route": "dag-streams"},
    ]

    @cached_property
    def fastapi_apps(self) -> list[Any]:  # type: ignore[override]
        """The application below `/kappa`."""
        from kappa.airflow.routes import app

        return [{"app": app, "url_prefix": "/kappa", "name": "Kappa Ads"}]
