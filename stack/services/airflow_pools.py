"""Airflow's pools, which bound what runs at once: made over its REST API, as they should be, at every start."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import httpx

from kappa.airflow_api import Airflow
from kappa.airflow_sign_in import embedded
from kappa.core.installation.needs import REPLAY_POOL, SPARK_POOL
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal

KEEPER = "admin"
"""The user of Airflow that the stack itself is."""
PATIENCE = httpx.Timeout(20.0)


class PoolsRefused(Refusal):
    """Airflow took the request for its pools and said no."""

    def __init__(self, problems: object) -> None:
        super().__init__(f"Airflow did not make its pools: {problems}. The stack runs; './kappa up' tries again.")


def wanted(settings: Settings) -> list[dict[str, Any]]:
    """The pools: `replay` for one catch-up at a time, also while deferred, `spark_cores` for finite Spark work."""
    sized = (REPLAY_POOL, replace(SPARK_POOL, slots=max(settings.cluster.worker_cores, SPARK_POOL.slots)))
    return [asdict(pool) for pool in sized]


def ensure(settings: Settings) -> None:
    """Have the pools as they should be; harmless when they are. Raises PoolsRefused."""
    try:
        problems: object = Airflow(embedded(settings, KEEPER), patience=PATIENCE).make_pools(wanted(settings))
    except Refusal as refused:
        raise PoolsRefused(refused) from refused
    if problems:
        raise PoolsRefused(problems)
