"""Look at the jobs' advice, decide by the policy, and write down what is asked for before it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import dict_row

from kappa.core.advice.load import Free, Load
from kappa.core.advice.size import advise
from kappa.core.audit import Author, Entry
from kappa.core.installation.settings import Settings
from kappa.core.requests.fields import write
from kappa.core.requests.lifecycle import RescaleRequest
from kappa.core.verb_steps import Verb
from kappa.platform import Platform
from kappa.status import load
from kappa.unavailable import Unreachable
from kappa.verbs.autoscale.plan import AutoscalePlan, decide_autoscale

VERB = Verb.AUTOSCALE
ASKED = f"{VERB}.asked"
"""What the audit calls a rescale that was asked for so; the cool-down is counted from it."""

_ASKED = "select job, max(at) as at from ops.audit where action = %s group by job"


def plan_autoscale(platform: Platform) -> AutoscalePlan:
    """The plan of an autoscaling. Changes nothing; with the policy off it looks at nothing. Raises Unreachable."""
    policy = platform.settings.autoscaling
    if not policy.enabled:
        return decide_autoscale((), policy, {}, platform.registry.now())
    loads, asked = facts(platform.settings)
    capacity = platform.cluster.capacity()
    free = Free(capacity.free_cores, capacity.free_memory_mb)
    return decide_autoscale([advise(each, free) for each in loads], policy, asked, platform.registry.now())


def facts(settings: Settings) -> tuple[Sequence[Load], dict[str, datetime]]:
    """What the jobs had to do lately, and when each was last asked to be rescaled so. Raises Unreachable."""
    options: Any = {"autocommit": True, "row_factory": dict_row, "connect_timeout": 5, "options": "-c timezone=UTC"}
    try:
        with psycopg.connect(settings.dsn("kappa_registry"), **options) as connection:
            asked = {row["job"]: row["at"] for row in connection.execute(_ASKED, [ASKED]).fetchall()}
            return load.read(connection), asked
    except psycopg.OperationalError as error:
        raise Unreachable("Postgres", settings.database_address, error) from error


def ask(platform: Platform, plan: AutoscalePlan, by: Author) -> list[dict[str, Any]]:
    """The forms of the rescales that are to be started, each of which is in the audit first, with the numbers that
    decided: a run that is killed in between has used up the cool-down, and never asks twice."""
    forms = []
    for decision in plan.applied:
        advice = decision.advice
        evidence = {"sentence": decision.sentence, "command": advice.command, "advice": advice.to_json()}
        platform.registry.record(Entry(by, ASKED, advice.job, advice.version, evidence))
        numbers: dict[str, Any] = dict(advice.form)
        forms.append(dict(write(RescaleRequest(advice.job, **numbers, reason=f"autoscaling: {advice.sentence}"))))
    return forms
