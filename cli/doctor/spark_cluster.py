"""Tries Spark: that it takes our requests and nobody else's, has workers, and is the version that the jobs need."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx

from cli.doctor.trial import Trial, Wrong
from kappa.core.settings import Settings
from kappa.spark import SPARK_VERSION, DriverState, StandaloneCluster
from kappa.unavailable import Unreachable

PART = "Spark"
NO_DRIVER = "driver-00000000000000-0000"
TIMEOUT_SECONDS = 10.0


def trials(settings: Settings) -> Iterator[Trial]:
    """The submission server with our key and without one, then the workers."""
    yield Trial(PART, "requests with our key", partial(_signed, settings))
    yield Trial(PART, "requests of strangers", partial(_strangers, settings))
    yield Trial(PART, "workers", partial(_workers, settings))


def _signed(settings: Settings) -> str:
    """A question for a driver that never was: it is answered if the signature is taken."""
    state = StandaloneCluster(settings.spark_rest, settings.spark_ui, settings.spark_key).status(NO_DRIVER)
    return "taken" if state is DriverState.GONE else f"taken ({state})"


def _strangers(settings: Settings) -> str:
    answer = _get(f"{settings.spark_rest}/v1/submissions/status/{NO_DRIVER}")
    if answer.status_code != httpx.codes.FORBIDDEN:
        raise Wrong(
            f"{settings.spark_rest} answered {answer.status_code} to a request without a signature: whoever reaches it "
            "may run code as Spark's user",
            "Set spark.master.rest.filters=org.apache.spark.ui.JWSFilter and its secretKey on the master.",
        )
    return "refused (403)"


def _workers(settings: Settings) -> str:
    try:
        page: dict[str, Any] = _get(f"{settings.spark_ui}/json/").json()
    except ValueError as error:
        raise Wrong(f"the master's page {settings.spark_ui}/json/ is no JSON: {error}", "Correct spark.ui.") from error
    workers = [worker for worker in page["workers"] if worker["state"] == "ALIVE"]
    if not workers:
        raise Wrong(
            "the master has no live worker", "Start a worker that names this master; its log says what it lacks."
        )
    free, cores = (sum(int(worker[name]) for worker in workers) for name in ("coresfree", "cores"))
    return f"{len(workers)} alive, {free} of {cores} cores free, Spark {SPARK_VERSION} expected"


def _get(url: str) -> httpx.Response:
    try:
        return httpx.get(url, timeout=TIMEOUT_SECONDS, trust_env=False)
    except httpx.HTTPError as error:
        raise Unreachable(PART, url, error or type(error).__name__) from error
