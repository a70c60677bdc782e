"""Advice on the size of the versions that serve, from the registry and from what the cluster has free."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from kappa.core.advice.load import Free, free_of
from kappa.core.advice.size import Advice, advise
from kappa.core.installation.settings import Settings
from kappa.status import load
from stack.status import outages

CLUSTER_SECONDS = 1.0
"""The longest that the cluster is waited for: without its answer nothing more is advised, and that is said."""
Capacity = Callable[[], Mapping[str, int]]
"""What the cluster has, at least `free_cores` and `free_memory_mb`; raises a Refusal where it does not answer."""


def read(settings: Settings, capacity: Capacity, seconds: float = outages.BOUND_SECONDS) -> list[Advice]:
    """The advice on each job that something serves, also that there is none; the cluster is asked while Postgres
    answers. Raises DoesNotAnswer, NoRegistry."""
    asked: list[Free | None] = []
    asking = threading.Thread(target=lambda: asked.append(free_of(capacity)), name="ask-cluster", daemon=True)
    asking.start()
    with outages.reading(settings, "kappa_operator", seconds) as connection:
        loads = load.read(connection)
    asking.join(CLUSTER_SECONDS)
    free = next(iter(asked), None)
    return [advise(each, free) for each in loads]
