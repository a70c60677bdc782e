"""What the registry holds after a year, made by SQL: batches of three jobs, and what became of old ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.rows import DictRow, dict_row

from stack.services.passwords import SUPERUSER
from tests.rigs.case import Case

JOBS = ("ad_ctr", "client_spend", "quarantine")
DAILY = 130_000
"""Batches of a job a day: one each 0.66 s, the mean of two jobs each half second and one each two seconds."""
PARTITIONS = 6
READ = 60
"""Records of a batch, the same number of each partition."""

_COUNTS = {
    "read": f"{READ}", "counted": "50 - n %% 7", "duplicate": "4 + n %% 5", "repeated_click": "2 + n %% 7 - n %% 5",
    "late": "1", "future": "1", "before_start": "1", "dead_letter": "1",
}  # fmt: skip
_MICROS = ("counted", "duplicate", "repeated_click", "late", "future", "before_start")
COLUMNS = (*_COUNTS, *(f"{fate}_micros" for fate in _MICROS))
"""Counts and micros of a batch, an hour, the totals and ops.accounting."""
_VALUES = (*_COUNTS.values(), *(f"({_COUNTS[fate]}) * (1000000007 + n %% 1000)" for fate in _MICROS))
_OFFSETS = "jsonb_build_object(" + ", ".join(f"'{p}', {{0}} * {READ // PARTITIONS}" for p in range(PARTITIONS)) + ")"
# Batch n ends where batch n + 1 begins; the one numbered `ends` would be committed now.
_BATCHES = f"""
insert into registry.batch (job, version, generation, batch_id, epoch, topic_id, start_offsets, end_offsets, watermark,
    committed_at, rows_changed, {", ".join(COLUMNS)})
select job, 1, 1, n, 1, 'topic-1', first, last, at, at, 7, {", ".join(_VALUES)}
from (select n, {_OFFSETS.format("n")} as first, {_OFFSETS.format("(n + 1)")} as last,
        statement_timestamp() - (%(ends)s - n) * interval '1 day' / %(daily)s as at
    from generate_series(%(first)s::bigint, %(last)s) n offset 0) batch
cross join unnest(%(jobs)s::text[]) job"""
# What an hour of these batches was folded into; the hour `ends` begins now.
_HOURS = f"""
insert into registry.batch_hour (job, version, generation, first_batch_id, last_batch_id, batches, first_epoch,
    last_epoch, topic_id, start_offsets, end_offsets, watermark, committed_from, committed_to, rows_changed,
    flat_out_batches, flat_out_read, flat_out_seconds, {", ".join(COLUMNS)})
select job, 1, 1, first, next - 1, next - first, 1, 1, 'topic-1', {_OFFSETS.format("first")}, {_OFFSETS.format("next")},
    at, at, at + interval '1 hour', 7 * (next - first), 0, 0, 0,
    {", ".join(f"(next - first) * ({value})" for value in _VALUES)}
from (select h as n, h * {DAILY} / 24 as first, (h + 1) * {DAILY} / 24 as next,
        statement_timestamp() - (%(ends)s - h) * interval '1 hour' as at
    from generate_series(0::bigint, %(last)s) h offset 0) hour
cross join unnest(%(jobs)s::text[]) job"""
_TOTALS = f"""
insert into registry.batch_total (job, version, generation, batches, {", ".join(COLUMNS)})
select job, version, generation, sum(batches), {", ".join(f"sum({name})" for name in COLUMNS)}
from registry.booked group by job, version, generation"""
_PROGRESS = f"update registry.progress set next_offset = %(ends)s * {READ // PARTITIONS} where version = 1"
_AUDIT = """
insert into registry.audit (at, actor, action, job, version, run_id, evidence)
select statement_timestamp() - n * interval '10 minutes', 'airflow',
    case n %% 6 when 0 then 'retire.swept' else 'repair.looked' end, 'ad_ctr', 1, 'run-' || n,
    jsonb_build_object('sentence', 'nothing to do', 'plan', repeat('.', 600))
from generate_series(1, 52560) n"""
# A proof of each night: a candidate of each job, of which nothing but its numbers is left.
_RETIRED = (
    """insert into registry.job_version (job, version, state, desired, artifact, state_digest, result_digest, settings,
        topic, topic_id, start_offsets)
    select job, 1 + n, 'RETIRED', 'stopped', artifact, state_digest, result_digest, settings, topic, topic_id,
        start_offsets from registry.job_version cross join generate_series(1, 365) n where version = 1""",
    """insert into registry.progress (job, version, "partition", next_offset, end_offset)
    select job, version, p, 1000, 1000 from registry.job_version cross join generate_series(0, 5) p
    where version > 1""",
    f"""insert into registry.batch_hour (job, version, generation, first_batch_id, last_batch_id, batches, first_epoch,
        last_epoch, topic_id, start_offsets, end_offsets, committed_from, committed_to, rows_changed, flat_out_batches,
        flat_out_read, flat_out_seconds, {", ".join(COLUMNS)})
    select job, version, 1, 0, 0, 1, 1, 1, 'topic-1', '{{}}', '{{}}', statement_timestamp(), statement_timestamp(), 7,
        0, 0, 0, {", ".join(_VALUES)}
    from (select job, version, version::bigint as n from registry.job_version where version > 1) candidate""",
    """insert into registry.replay (replay_id, run_id, versions, live, parity, bands, approval, promote, asked_by,
        price, begun_at, validation, outcome, ended_at)
    select gen_random_uuid(), 'proof-' || n, jsonb_build_object('ad_ctr', n + 1), '{"ad_ctr": 1}', 'exact', '[]',
        'auto', false, 'airflow', '{"records": 100}', statement_timestamp() - n * interval '1 day',
        jsonb_build_object('findings', repeat('.', 4000)), 'proved', statement_timestamp() - n * interval '1 day'
    from generate_series(1, 365) n""",
)
_REFUSED = """
insert into data.quarantine (version, topic, "partition", "offset", append_time, fate, reason, key, value, recorded_at)
select 1, 't', n %% 6, n, at, 'late', 'because', 'k', repeat('v', 200)::bytea, at
from (select n, statement_timestamp() - (%(days)s * 1000 - n) * interval '1 day' / 1000 as at
    from generate_series(0, %(days)s * 1000) n) record"""


def year_of(case: Case) -> None:
    """What grows apart from batches: the audit, 365 proofs by replay with their retired candidates, and 100 days of
    refused records, a thousand a day; and one replay under way."""
    with by_sql(case) as connection:
        connection.execute(_AUDIT, {})
        for statement in _RETIRED:
            connection.execute(statement, {})
        connection.execute(_REFUSED, {"days": 100})
        connection.execute(
            "insert into registry.replay (replay_id, run_id, versions, live, parity, bands, approval, promote, "
            """asked_by, price) values (gen_random_uuid(), 'open', '{"ad_ctr": 2}', '{"ad_ctr": 1}', 'exact', '[]', """
            """'auto', true, 'tester', '{"records": 100}')"""
        )


def batches(case: Case, first: int, ends: int, daily: int = DAILY) -> None:
    """Batches `first` to `ends` - 1 of each job, so many a day, the last one committed just now; and what the jobs have
    read by them. Nothing else is written by the way: no totals."""
    step = DAILY * 10
    with by_sql(case) as connection:
        for begin in range(first, ends, step):
            last = min(begin + step, ends) - 1
            connection.execute(
                _BATCHES, {"first": begin, "last": last, "ends": ends, "daily": daily, "jobs": list(JOBS)}
            )
        connection.execute(_PROGRESS, {"ends": ends})


def hours(case: Case, days: int, of: int) -> None:
    """What the batches of the first `days` of `of` days were folded into, at full cadence."""
    with by_sql(case) as connection:
        connection.execute(_HOURS, {"last": days * 24 - 1, "ends": of * 24, "jobs": list(JOBS)})


def total(case: Case) -> None:
    """The totals of what is booked, of jobs that have none."""
    with by_sql(case) as connection:
        connection.execute(_TOTALS, {})


@contextmanager
def by_sql(case: Case) -> Iterator[psycopg.Connection[DictRow]]:
    """A connection that writes rows and nothing more: no triggers, no look at foreign keys."""
    with psycopg.connect(case.settings.dsn(SUPERUSER), autocommit=True, row_factory=dict_row) as connection:
        connection.execute("set session_replication_role = replica")
        yield connection
