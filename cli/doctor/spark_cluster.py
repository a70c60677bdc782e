"""Tries Spark: that it takes our requests and nobody else's, and has workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import httpx

from cli.doctor.trial import Trial, Wrong
from kappa.core.installation.settings import Settings
from kappa.platform import cluster_of
from kappa.standalone_cluster import NO_DRIVER, SPARK_VERSION
from kappa.unavailable import Unreachable

PART = "Spark"
TIMEOUT_SECONDS = 10.0


def trials(settings: Settings) -> Iterator[Trial]:
    """The submission server with our key and without one, the page without one, then the workers."""
    yield Trial(PART, "requests with our key", partial(_signed, settings), settings.spark_key.name)
    yield Trial(PART, "requests of strangers", partial(_strangers, settings))
    yield Trial(PART, "pages for strangers", partial(_pages, settings))
    yield Trial(PART, "workers", partial(_workers, settings))


def _signed(settings: Settings) -> str:
    """The master tells its version, if the signature is taken; an old one does not tell it."""
    told = cluster_of(settings).version()
    if told not in (None, SPARK_VERSION):
        raise Wrong(
            f"the master is of Spark {told}, and drivers are of {SPARK_VERSION}",
            f"Run masters and workers of Spark {SPARK_VERSION}, or correct spark.master, spark.rest and spark.ui.",
        )
    return f"taken, by Spark {told or '(it does not say which)'}"


def _strangers(settings: Settings) -> str:
    return _refused(
        settings.spark_rest, f"/v1/submissions/status/{NO_DRIVER}", "may run code as Spark's user",
        "Set spark.master.rest.filters=org.apache.spark.ui.JWSFilter and its secretKey on the master.",
    )  # fmt: skip


def _pages(settings: Settings) -> str:
    return _refused(
        settings.spark_ui, "/json/", "sees which programs run where, the environment and the logs",
        "Set spark.ui.filters=org.apache.spark.ui.JWSFilter and its secretKey on the master, and on each worker "
        "(docs/clusters.md), or have the proxy before it refuse what has no signature.",
    )  # fmt: skip


def _refused(servers: Iterable[str], path: str, allows: str, remedy: str) -> str:
    """What is to be said where each server refuses a request without a signature. Raises Wrong, with what it allows to
    whoever reaches it; Unreachable."""
    for server in servers:
        answered = _ask_as_stranger(f"{server}{path}")
        if answered != httpx.codes.FORBIDDEN:
            raise Wrong(
                f"{server} answered {answered} to a request without a signature: whoever reaches it {allows}", remedy
            )
    return "refused (403)"


def _ask_as_stranger(url: str) -> int:
    """The status of the answer to a request without a signature. Raises Unreachable."""
    try:
        return httpx.get(url, timeout=TIMEOUT_SECONDS, trust_env=False).status_code
    except httpx.HTTPError as error:
        raise Unreachable(PART, url, error or type(error).__name__) from error


def _workers(settings: Settings) -> str:
    try:
        capacity = cluster_of(settings).capacity()
    except Unreachable as away:
        raise Wrong(away.silence, "Start the master, or correct spark.ui in the settings.") from away
    hosts = capacity.hosts
    if not hosts:
        raise Wrong(
            "the master has no live worker", "Start a worker that names this master; its log says what it lacks."
        )
    cores = sum(host.cores for host in hosts)
    return f"{len(hosts)} alive, {capacity.free_cores} of {cores} cores free"
