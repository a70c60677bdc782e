"""An answer that Airflow has taken from somebody and has not brought to the task that asked."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import httpx

from kappa.airflow.run_note import RunName, signed_in
from kappa.core.settings import Settings

log = logging.getLogger(__name__)


def taken(
    settings: Settings, run: RunName, task_id: str, transport: httpx.BaseTransport | None = None
) -> Mapping[str, Any] | None:
    """The answer as `execute_complete` is told of it; None where there is none, or Airflow cannot say.

    A task that is answered in the very second in which it pauses is sometimes taken for failed: the executor tells of
    the end of its first half when the second one waits already. It is then run again, and would ask again.
    """
    try:
        with signed_in(settings, transport) as api:
            reply = api.get(f"{run.path}/taskInstances/{task_id}/-1/hitlDetails")
            if reply.status_code == httpx.codes.NOT_FOUND:
                return None
            held: dict[str, Any] = reply.raise_for_status().json()
    except (httpx.HTTPError, OSError) as problem:
        log.warning("not known whether there is an answer already, so it is asked: %s", problem)
        return None
    if not held["response_received"]:
        return None
    told = {name: held[name] for name in ("chosen_options", "responded_by_user")}
    return {**told, "timedout": told["responded_by_user"] is None}
