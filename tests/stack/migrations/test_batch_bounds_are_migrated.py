"""A stack that ran before batches had these bounds, with a time that a driver took from its own clock."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

import psycopg
import pytest

from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import JOBS, resolve
from stack import schema
from stack.layout import Layout
from stack.services import postgres
from stack.services.passwords import SUPERUSER
from tests.plugins.registries import COUNTS

pytestmark = pytest.mark.rig

BEFORE = "0009"
NUMBERS = count(1)
_STAGE = """
insert into registry.job_version (job, version, artifact, state_digest, result_digest, settings, topic, topic_id,
    start_offsets) select job, version, 'a', 's', 'r', jsonb_build_object('records_per_batch', most, 'cadence_ms', 7),
    't', 'i', '{}' from (values ('ad_ctr', 1, 5000000), ('ad_ctr', 2, 400000), ('client_spend', 1, 500001),
    ('quarantine', 1, 200000), ('quarantine', 2, 900)) as v (job, version, most)"""
_BATCH = f"""
insert into registry.batch (job, version, generation, batch_id, epoch, topic_id, start_offsets, end_offsets,
    {", ".join(COUNTS)}, committed_at)
select job, version, 1, n, 1, 't', '{{}}', '{{}}', 1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1,
    '2026-03-12 10:00+00'::timestamptz + n * interval '1 s'
from registry.job_version cross join generate_series(1, 2) n where version = 1"""
_BEAT = """
insert into registry.heartbeat (job, version, epoch, beat_at, driver_pid, submission_id, generation, committed_at)
select job, version, 1, clock_timestamp(), 1, 'driver-1', 1, case job
    when 'ad_ctr' then clock_timestamp() + interval '1 hour'
    when 'client_spend' then '2026-03-12 09:00+00' end
from registry.job_version"""


@pytest.fixture
def old(parts: Layout) -> Settings:
    """Versions with batches of many sizes, and heartbeats of drivers whose clocks went ahead, behind, or told nothing
    yet. The database ends with its server: to drop it took a minute beside the rest of the suite."""
    settings = replace(parts.settings, database=f"before_bounds_{next(NUMBERS)}")
    postgres.ensure_roles(settings)
    schema.migrate(settings, BEFORE)
    execute(settings, _STAGE, _BATCH, _BEAT)
    schema.migrate(settings)
    return settings


def execute(settings: Settings, *statements: str) -> list[tuple[Any, ...]]:
    """The rows of the last statement."""
    with psycopg.connect(settings.dsn(SUPERUSER), autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def test_batches_are_as_large_as_may_be_set_now(old: Settings) -> None:
    found = execute(old, "select job, settings from registry.job_version order by job, version")
    sizes = [settings["records_per_batch"] for _, settings in found]
    assert sizes == [500_000, 400_000, 500_000, 20_000, 900]
    for job, settings in found:
        assert resolve(JOBS[job], settings)["cadence_ms"] == 7


def test_no_driver_s_clock_is_left_in_a_heartbeat(old: Settings) -> None:
    told = dict(execute(old, "select job || ' ' || version, committed_at::text from registry.heartbeat"))
    assert told["ad_ctr 1"] == "2026-03-12 10:00:02+00", "the time of its newest batch"
    assert told["client_spend 1"] == "2026-03-12 09:00:00+00", "the next batch corrects it"
    assert told["quarantine 1"] is None
    assert execute(old, "select 1 from registry.heartbeat where committed_at > clock_timestamp()") == []
