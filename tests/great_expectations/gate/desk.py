"""Candidates and live versions written straight into Postgres, as jobs would have written them, and judged."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
from gate.findings import Finding, Verdict

from kappa.core import validation
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import find
from kappa.core.measures import MEASURES
from kappa.core.replays import Approval, Replay, Standing
from kappa.core.validation import Band, Parity, Subject
from kappa.core.versions import Desired, State, Version
from kappa.verbs.replay.validation import request, subject

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
LIVE, CANDIDATE = 9001, 9002
MINUTE = timedelta(minutes=1)
Row = dict[str, Any]
Edit = Callable[[Row], Row | None]


def minute(number: int) -> datetime:
    """The start of the so manieth window."""
    return NOON + number * MINUTE


def ad_rows(windows: Iterable[int]) -> list[Row]:
    """Three ads of two clients in each window: 10 impressions, 10 clicks, one resent impression."""
    counted = {"impressions": 10, "clicks": 10, "impression_micros": 10_000, "click_micros": 70_000}
    seen = {"seen_impressions": 11, "seen_clicks": 10, "seen_impression_micros": 11_000, "seen_click_micros": 70_000}
    ads = (("acme", "shoe"), ("acme", "sock"), ("bolt", "nut"))
    return [
        {"client_id": client, "ad_id": ad, "window_start": minute(w), **counted, **seen}
        for w in windows
        for client, ad in ads
    ]


def client_rows(rows: Iterable[Row]) -> list[Row]:
    """The same events by client."""
    sums: dict[tuple[str, datetime], Row] = {}
    for row in rows:
        key = {"client_id": row["client_id"], "window_start": row["window_start"]}
        held = sums.setdefault((row["client_id"], row["window_start"]), {**key, **dict.fromkeys(MEASURES, 0)})
        for measure in MEASURES:
            held[measure] += row[measure]
    return list(sums.values())


def altered(rows: Iterable[Row], number: int, **changes: int) -> list[Row]:
    """The rows, with so much added to measures of one of them."""
    held = [dict(row) for row in rows]
    for measure, change in changes.items():
        held[number][measure] += change
    return held


@dataclass
class Desk:
    """Two versions of each job, 9001 live and 9002 its candidate, and what is known of them."""

    settings: Settings
    starts: dict[int, datetime | None] = field(default_factory=lambda: {LIVE: None, CANDIDATE: None})
    through: dict[int, datetime | None] = field(default_factory=lambda: {LIVE: minute(5), CANDIDATE: minute(5)})
    parity: Parity = Parity.EXACT
    bands: tuple[Band, ...] = ()
    reason: str = "because"

    @contextmanager
    def prepared(self) -> Iterator[Desk]:
        """The desk; afterwards nothing is left of its versions."""
        with self._owner() as owner:
            _forget(owner)
        try:
            yield self
        finally:
            with self._owner() as owner:
                _forget(owner)

    def write(self, job: str, version: int, rows: list[Row], offsets: int = 0, booked: list[Row] | None = None) -> None:
        """A version with these rows, and one batch that says it made them (or others). The batch of a job without
        measures has read so many `offsets`."""
        with self._owner() as owner:
            self._stage(owner, job, version)
            table = find(job).table
            for row in rows:
                names = ", ".join(f'"{name}"' for name in row)
                marks = ", ".join(["%s"] * len(row))
                owner.execute(
                    f"insert into data.{table} (version, {names}) values ({version}, {marks})", [*row.values()]
                )
            self._book(owner, job, version, rows if booked is None else booked, offsets)

    def both(self, job: str, live: list[Row], candidate: list[Row]) -> None:
        """The live version and its candidate."""
        self.write(job, LIVE, live)
        self.write(job, CANDIDATE, candidate)

    def execute(self, statement: str, *values: Any) -> None:
        """A statement as the owner."""
        with self._owner() as owner:
            owner.execute(statement, values)

    def asked(self, *jobs: str) -> dict[str, Any]:
        """The input of the program for these jobs."""
        replay = Replay(
            replay_id=UUID(int=7), run_id="run-7", versions=dict.fromkeys(jobs, CANDIDATE),
            live=dict.fromkeys(jobs, LIVE), starts_ms=None, parity=self.parity, bands=self.bands,
            approval=Approval.ASK, promote=True, asked_by="tester", reason=self.reason,
        )  # fmt: skip
        return request(self.settings, replay, [self._subject(job) for job in jobs], 120).to_json()

    def judge(self, *jobs: str) -> Verdict:
        """What the gate says of these jobs' candidates."""
        # Here, and not above: Great Expectations takes seconds to import, and each pytest reads this file.
        from gate import running

        return running.judge(validation.read(json.loads(json.dumps(self.asked(*jobs)))))

    def _subject(self, job: str) -> Subject:
        candidate, live = (self._version(job, number) for number in (CANDIDATE, LIVE))
        return subject(candidate, live, standing(self.through[CANDIDATE]), standing(self.through[LIVE]))

    def _version(self, job: str, number: int) -> Version:
        return replace(version(job), version=number, starts_at=self.starts[number])

    def _owner(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.settings.dsn("kappa_owner"), autocommit=True)

    def _stage(self, owner: psycopg.Connection[Any], job: str, number: int) -> None:
        owner.execute(
            "insert into registry.job_version (job, version, state, desired, artifact, state_digest, result_digest, "
            "settings, topic, topic_id, starts_at, start_offsets) "
            "values (%s, %s, 'CAUGHT_UP', 'stopped', 'a', 's', 'r', "
            """'{"allowed_lateness_ms": 0}', 't', 'i', %s, '{"0": 100}')""",
            [job, number, self.starts[number]],
        )
        owner.execute("select registry.add_rows_partition(%s, %s)", [job, number])

    def _book(self, owner: psycopg.Connection[Any], job: str, number: int, rows: list[Row], offsets: int) -> None:
        def total(*names: str) -> int:
            return sum(row[name] for row in rows for name in names) if find(job).stateful else 0

        counted, micros = total("impressions", "clicks"), total("impression_micros", "click_micros")
        duplicate = total("seen_impressions", "seen_clicks") - counted
        duplicate_micros = total("seen_impression_micros", "seen_click_micros") - micros
        read = counted + duplicate + offsets
        owner.execute(
            "insert into registry.batch (job, version, generation, batch_id, epoch, topic_id, start_offsets, "
            "end_offsets, read, counted, duplicate, repeated_click, late, future, before_start, dead_letter, "
            "counted_micros, duplicate_micros, repeated_click_micros, late_micros, future_micros, before_start_micros, "
            "rows_changed) "
            "values (%s, %s, 1, 0, 1, 'i', '{}', '{}', %s, %s, %s, 0, 0, 0, %s, 0, %s, %s, 0, 0, 0, 0, 0)",
            [job, number, read, counted, duplicate, offsets, micros, duplicate_micros],
        )
        owner.execute(
            "insert into registry.progress values (%s, %s, 0, %s, %s, %s, null)",
            [job, number, 100 + read, minute(9), 100 + read],
        )


def standing(complete_through: datetime | None) -> Standing:
    """How far a version is, as far as a validation asks."""
    return Standing({}, {}, complete_through, None, 0, 0.0, 0, None)


def version(job: str) -> Version:
    """A version as the registry has it."""
    return Version(job, 1, State.CAUGHT_UP, Desired.STOPPED, "a", "s", "r", {}, "t", "i", None, {0: 100})


def found(verdict: Verdict, name: str, suite: str = "ad_ctr_minute") -> Finding:
    """The finding of one expectation."""
    (one,) = [f for f in verdict.findings if (f.suite, f.expectation) == (suite, name)]
    return one


def blocking(verdict: Verdict) -> list[str]:
    """The names of the expectations that block."""
    return [f.expectation for f in verdict.findings if f.blocks]


def _forget(owner: psycopg.Connection[Any]) -> None:
    for job in ("ad_ctr", "client_spend", "quarantine"):
        for number in (LIVE, CANDIDATE):
            owner.execute(f"drop table if exists data.{find(job).table}_v{number}")
    for table in ("progress", "batch", "batch_hour", "batch_total", "job_version"):
        owner.execute(f"delete from registry.{table} where version in (%s, %s)", [LIVE, CANDIDATE])
