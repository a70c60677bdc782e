"""The note of a run: what was done, in a sentence, on the run's page. Airflow takes it over its REST API only."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import quote

import httpx

from kappa.core.settings import Settings

USER = "operator"
TIMEOUT_SECONDS = 5.0
LONGEST = 1000
"""Characters that Airflow takes."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunName:
    """A run of a DAG."""

    dag_id: str
    run_id: str

    @property
    def path(self) -> str:
        """Where the REST API has it."""
        return f"/api/v2/dags/{quote(self.dag_id, safe='')}/dagRuns/{quote(self.run_id, safe='')}"


def leave(settings: Settings, run: RunName, text: str, transport: httpx.BaseTransport | None = None) -> bool:
    """Set the run's note; whether that worked. The audit is the record: a note that could not be left fails nothing."""
    try:
        with signed_in(settings, transport) as api:
            api.patch(run.path, json={"note": text[:LONGEST]}).raise_for_status()
    except (httpx.HTTPError, OSError) as problem:
        log.warning("no note was left on the run: %s", problem)
        return False
    return True


@contextmanager
def signed_in(settings: Settings, transport: httpx.BaseTransport | None = None) -> Iterator[httpx.Client]:
    """Airflow's REST API as a task may use it. Raises httpx.HTTPError, OSError."""
    with httpx.Client(base_url=settings.airflow, timeout=TIMEOUT_SECONDS, trust_env=False, transport=transport) as api:
        login = {"username": USER, "password": _password(settings)}
        token = api.post("/auth/token", json=login).raise_for_status().json()["access_token"]
        api.headers["Authorization"] = f"Bearer {token}"
        yield api


def _password(settings: Settings) -> str:
    users: dict[str, str] = json.loads((settings.secrets / "airflow-users.json").read_text())
    return users[USER]
