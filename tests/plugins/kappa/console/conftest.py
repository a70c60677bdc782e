"""A database as a stack in use has it: versions that serve, their rows, batches and refused records."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from psycopg.types.json import Jsonb

from kappa.console.database import Database
from kappa.core.fates import Fate
from kappa.core.installation.settings import Settings
from kappa.core.measures import MEASURES
from tests.rigs.rig import Rig
from tests.rigs.served_by_hand import FIRST, ByHand, by_hand

FINAL, OPEN = datetime(2026, 1, 31, 12, 0, tzinfo=UTC), datetime(2026, 1, 31, 12, 1, tzinfo=UTC)
EVIL = b'<script>alert("\xe9")</script>\x00'
MONEY = ", ".join(f"{fate.value}_micros" for fate in Fate if fate is not Fate.DEAD_LETTER)


@pytest.fixture(scope="module")
def hand(cases: Rig) -> Iterator[ByHand]:
    settings = cases.case("ad_ctr", "quarantine").settings
    with by_hand(settings) as hand:
        for job in ("ad_ctr", "client_spend", "quarantine"):
            hand.stage(job, FIRST, partitions=2)
            hand.serve(job, ("-infinity", "infinity", FIRST))
        for job in ("ad_ctr", "client_spend"):
            hand.through(job, FIRST, OPEN)
        beat(hand, newest=OPEN + timedelta(seconds=30))
        yield hand


@pytest.fixture(scope="module")
def settings(hand: ByHand) -> Settings:
    return hand.settings


@pytest.fixture(scope="module")
def database(settings: Settings) -> Database:
    return Database(settings)


def beat(hand: ByHand, newest: datetime) -> None:
    """Heartbeats of the versions of ad_ctr and client_spend that have read up to there."""
    hand.execute("delete from registry.heartbeat where version = %s", FIRST)
    hand.execute(
        "insert into registry.heartbeat (job, version, epoch, beat_at, driver_pid, submission_id, generation, "
        "newest_event_time) values ('client_spend', %s, 1, clock_timestamp(), 8, 'driver-2', 1, %s)", FIRST, newest,
    )  # fmt: skip
    hand.execute(
        "insert into registry.heartbeat (job, version, epoch, beat_at, driver_pid, submission_id, generation, "
        "batch_id, batch_ms, committed_at, newest_event_time, state_rows, state_bytes) values ('ad_ctr', %s, 1, "
        "clock_timestamp(), 7, 'driver-1', 1, 3, 400, clock_timestamp(), %s, 12, 4096)", FIRST, newest,
    )  # fmt: skip


def add_up_clients(hand: ByHand) -> None:
    """The rows of client_spend that belong to those of ad_ctr."""
    sums = ", ".join(f"sum({measure})" for measure in MEASURES)
    hand.execute("delete from data.client_spend_minute where version = %s", FIRST)
    hand.execute(
        f"insert into data.client_spend_minute (version, client_id, window_start, {', '.join(MEASURES)}) "
        f"select version, client_id, window_start, {sums} from data.ad_ctr_minute where version = %s group by 1, 2, 3",
        FIRST,
    )


def batch(hand: ByHand, number: int, age_seconds: float, **fates: int) -> None:
    """A batch of ad_ctr that was committed so long ago."""
    counts = {fate.value: fates.get(fate.value, 0) for fate in Fate}
    names, marks = ", ".join(counts), ", ".join(["%s"] * len(counts))
    zeros = ", ".join(["0"] * (len(Fate) - 1))
    hand.execute(
        f"insert into registry.batch (job, version, generation, batch_id, epoch, topic_id, start_offsets, end_offsets, "
        f"read, {names}, {MONEY}, rows_changed, committed_at) values ('ad_ctr', %s, 1, %s, 1, 'id', %s, %s, %s, "
        f"{marks}, {zeros}, 2, clock_timestamp() - %s * interval '1 second')",
        FIRST, number, Jsonb({"0": 0}), Jsonb({"0": 1}), sum(counts.values()), *counts.values(), age_seconds,
    )  # fmt: skip


def refuse(hand: ByHand, offset: int, fate: str, reason: str, value: bytes | None) -> None:
    """A record of the quarantine, appended a minute ago."""
    hand.execute(
        'insert into data.quarantine (version, topic, "partition", "offset", append_time, fate, reason, key, value, '
        "value_bytes) values (%s, 'ad_events', 0, %s, clock_timestamp() - interval '1 minute', %s, %s, %s, %s, %s)",
        FIRST, offset, fate, reason, b"user", value, None if value is None else len(value),
    )  # fmt: skip
