"""A database as a stack in use has it, versions that serve, their rows, batches and refused records; and the console
over it in a real browser."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
import uvicorn
from fastapi import FastAPI
from psycopg.types.json import Jsonb

from kappa.cluster import Capacity, Host
from kappa.console.app import protect, router
from kappa.console.database import Database
from kappa.core.fates import Fate
from kappa.core.installation.settings import Settings
from kappa.core.measures import MEASURES
from stack.waiting import until
from tests.rigs.browser import Looked, chromium
from tests.rigs.rig import Rig
from tests.rigs.served_by_hand import FIRST, ByHand, by_hand
from tests.rigs.small_stack import free_ports

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FINAL, OPEN = datetime(2026, 1, 31, 12, 0, tzinfo=UTC), datetime(2026, 1, 31, 12, 1, tzinfo=UTC)
EVIL = b'<script>alert("\xe9")</script>\x00'
SCRIPT = '<script>alert("ad")</script>'
SECOND = FIRST + 1
"""A version of ad_ctr that does not serve; it has other clicks of one ad, and not all rows."""
CAPACITY = Capacity((Host(8, 3, 16_384, 4_096), Host(4, 4, 8_192, 8_192))).to_json()
SHOWN = {
    "now": "No stream is red", "numbers": "Clients by spend: ", "fates": "equal: the fates add up",
    "releases": "All of it: ./kappa audit", "replays": "No replay is under way",
}  # fmt: skip
"""What each page says once it has its data."""
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


def batch(hand: ByHand, number: int, age_seconds: float, version: int = FIRST, **fates: int) -> None:
    """A batch of a version of ad_ctr that was committed so long ago."""
    counts = {fate.value: fates.get(fate.value, 0) for fate in Fate}
    names, marks = ", ".join(counts), ", ".join(["%s"] * len(counts))
    zeros = ", ".join(["0"] * (len(Fate) - 1))
    hand.execute(
        f"insert into registry.batch (job, version, generation, batch_id, epoch, topic_id, start_offsets, end_offsets, "
        f"read, {names}, {MONEY}, rows_changed, committed_at) values ('ad_ctr', %s, 1, %s, 1, 'id', %s, %s, %s, "
        f"{marks}, {zeros}, 2, clock_timestamp() - %s * interval '1 second')",
        version, number, Jsonb({"0": 0}), Jsonb({"0": 1}), sum(counts.values()), *counts.values(), age_seconds,
    )  # fmt: skip


def promote(hand: ByHand, after: int, age_seconds: float) -> None:
    """So long ago a version of ad_ctr took over from FIRST."""
    before, now = ([{"job": "ad_ctr", "version": version, "from_window": "-infinity", "to_window": "infinity"}]
                   for version in (FIRST, after))  # fmt: skip
    hand.execute(
        "insert into registry.release (jobs, segments_before, segments_after, offsets_before, offsets_after, "
        "promoted_at, promoted_by) values ('{ad_ctr}', %s, %s, '[]', '[]', clock_timestamp() - %s * interval "
        "'1 second', 'ada')", Jsonb(before), Jsonb(now), age_seconds,
    )  # fmt: skip
    hand.serve("ad_ctr", ("-infinity", "infinity", after))


def refuse(hand: ByHand, offset: int, fate: str, reason: str, value: bytes | None) -> None:
    """A record of the quarantine, appended a minute ago."""
    hand.execute(
        'insert into data.quarantine (version, topic, "partition", "offset", append_time, fate, reason, key, value, '
        "value_bytes) values (%s, 'ad_events', 0, %s, clock_timestamp() - interval '1 minute', %s, %s, %s, %s, %s)",
        FIRST, offset, fate, reason, b"user", value, None if value is None else len(value),
    )  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def base(hand: ByHand, settings: Settings) -> Iterator[str]:
    """The console, served by itself; with records of the last minutes, of which some are hostile."""
    _fill(hand)
    app = FastAPI()
    protect(app)
    app.include_router(router(lambda: settings, lambda: CAPACITY))
    (port,) = free_ports(1)
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning"))
    running = threading.Thread(target=server.run, daemon=True)
    running.start()
    assert until(lambda: server.started, 60)
    yield f"http://127.0.0.1:{port}/console"
    server.should_exit = True
    running.join(30)


def _fill(hand: ByHand) -> None:
    minute = datetime.now(UTC).replace(second=0, microsecond=0)
    rows = [
        {"client_id": client, "ad_id": ad, "window_start": minute - timedelta(minutes=age), "impressions": 50 + age,
         "clicks": 1 + age % 3, "impression_micros": 1_000_000}
        for client, ad in (("c1", "a1"), ("c1", "a2"), ("c2", SCRIPT)) for age in range(30)
    ]  # fmt: skip
    hand.rows("ad_ctr", FIRST, rows)
    add_up_clients(hand)
    hand.through("ad_ctr", FIRST, minute - timedelta(minutes=10))
    hand.stage("ad_ctr", SECOND)
    hand.rows("ad_ctr", SECOND, [{**row, "clicks": 0} if row["ad_id"] == "a2" else row for row in rows[:50]])
    hand.through("ad_ctr", SECOND, minute)
    for job in ("client_spend", "quarantine"):
        hand.through(job, FIRST, minute)
    beat(hand, newest=minute)
    for number in range(20):
        batch(hand, number, 20 + 50 * number, counted=100 + number, late=number % 4, dead_letter=1)
    refuse(hand, 1, "dead_letter", "not JSON: <b>", EVIL)
    hand.execute("update registry.job_version set desired = 'stopped'")
    hand.execute(
        "insert into registry.audit (actor, action, job, version, reason, run_id, evidence) values "
        "('ada', 'deploy.done', 'ad_ctr', 1, %s, 'run-1', '{\"sentence\": \"<img src=x>\"}')",
        "<script>alert(1)</script>",
    )  # fmt: skip


def opened(looked: Looked, base: str, page: str) -> None:
    """A page, with its data, at which nothing has gone wrong."""
    looked.page.goto(f"{base}/{page}")
    looked.page.get_by_text(SHOWN[page]).first.wait_for()
