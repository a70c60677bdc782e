"""Airflow's pools, which bound what runs at once: made over its REST API, as they should be, at every start."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from typing import Any

from kappa.core.refusals import Refusal
from kappa.core.settings import Settings
from stack.services import passwords
from stack.services.airflow_connections import FINITE_CORES

TIMEOUT_SECONDS = 20


class PoolsRefused(Refusal):
    """Airflow took the request for its pools and said no."""

    def __init__(self, problems: object) -> None:
        super().__init__(f"Airflow did not make its pools: {problems}. The stack runs; './kappa up' tries again.")


def wanted(settings: Settings) -> list[dict[str, Any]]:
    """The pools: `replay` for one catch-up at a time, also while deferred, `spark_cores` for finite Spark work."""
    cores = max(settings.cluster.worker_cores, FINITE_CORES)
    return [
        {"name": "replay", "slots": 1, "include_deferred": True, "description": "One version at a time catches up"},
        {"name": "spark_cores", "slots": cores, "description": "Cores that finite Spark work takes"},
    ]


def ensure(settings: Settings) -> None:
    """Have the pools as they should be; harmless when they are. Raises PoolsRefused."""
    name, password = passwords.airflow_login(settings)
    token = _call(settings, "POST", "/auth/token", {"username": name, "password": password})["access_token"]
    create = {"action": "create", "action_on_existence": "overwrite", "entities": wanted(settings)}
    answer = _call(settings, "PATCH", "/api/v2/pools", {"actions": [create]}, token)
    if problems := answer["create"]["errors"]:
        raise PoolsRefused(problems)


def _call(
    settings: Settings, method: str, path: str, body: Mapping[str, Any], token: str | None = None
) -> dict[str, Any]:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    request = urllib.request.Request(settings.airflow + path, json.dumps(body).encode(), headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
            held: dict[str, Any] = json.load(answer)
            return held
    except OSError as problem:
        raise PoolsRefused(problem) from problem
