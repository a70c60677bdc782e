"""A Postgres of a bench's own, with the schema and as many served rows as are asked for; gone afterwards."""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

import psycopg
import typer

from bench import report
from cli.entry import CHECKOUT
from kappa.core.installation.settings import Settings, load
from stack import schema
from stack.down import down
from stack.layout import Layout
from stack.programs import NotHealthy
from stack.services import passwords, postgres
from stack.supervision import Supervisor
from stack.waiting import until

PATIENCE_SECONDS = 60
_VERSION = """
insert into registry.job_version (job, version, state, artifact, state_digest, result_digest, settings, topic, topic_id,
    start_offsets) values (%(job)s, %(version)s, %(state)s, 'a', 's', 'r',
    '{"allowed_lateness_ms": 0, "cadence_ms": 1000}', 'ad_events', 'id', '{"0": 0}');
select registry.add_rows_partition(%(job)s, %(version)s);
insert into registry.progress (job, version, "partition", next_offset, read_append_time)
    values (%(job)s, %(version)s, 0, 0, %(newest)s)"""
_SERVES = """
insert into registry.segment values (%(job)s, '-infinity', 'infinity', %(version)s);
insert into registry.heartbeat (job, version, epoch, beat_at, driver_pid, submission_id, generation, newest_event_time)
    values (%(job)s, %(version)s, 1, now(), 7, 'driver-1', 1, %(newest)s)"""
# By minute, as they come; each ad is of the client that its number names. One in `differs` has another count.
_ADS = """
insert into data.ad_ctr_minute
select %(version)s, 'client-' || ad %% %(clients)s, 'ad-' || ad, %(newest)s::timestamptz - make_interval(mins => age),
    n, n %% 7, 1000 * n, n %% 7, n, n %% 7, 1000 * n, n %% 7
from generate_series(%(minutes)s - 1, 0, -1) age, generate_series(1, %(ads)s) ad,
    lateral (select 1 + (ad * 31 + age * 17) %% 97 + ((ad + age) %% %(differs)s = 0)::integer as n) of_row"""
_CLIENTS = """
insert into data.client_spend_minute
select version, client_id, window_start, sum(impressions), sum(clicks), sum(impression_micros), sum(click_micros),
    sum(seen_impressions), sum(seen_clicks), sum(seen_impression_micros), sum(seen_click_micros)
from data.ad_ctr_minute where version = %(version)s group by 1, 2, 3"""
_STATEMENTS = {"ad_ctr": _ADS, "client_spend": _CLIENTS}
Ads = Annotated[int, typer.Option(min=1, help="A row of each in every minute.")]
Clients = Annotated[int, typer.Option(min=1, help="Whose ads they are.")]
Minutes = Annotated[int, typer.Option(min=1, help="How far back.")]
NEVER = 10**9
"""For `differs`: no row differs."""


@dataclass(frozen=True)
class Filling:
    """So many ads of so many clients, with a row each in every minute up to now; one row in `differs` has a count that
    it has in no other version."""

    ads: int
    clients: int
    minutes: int
    newest: datetime
    differs: int = NEVER


@contextmanager
def own_postgres() -> Iterator[Settings]:
    """The settings of a Postgres with the schema and without rows, for as long as the body runs. Raises NotHealthy."""
    folder = Path(tempfile.mkdtemp(prefix="kappa-bench-"))
    folder.chmod(0o755)
    (folder / "kappa.toml").write_text(f"[ports]\npostgres = {free_port()}\n")
    layout = Layout(load(folder / "state"), CHECKOUT)
    try:
        _start(layout)
        yield layout.settings
    finally:
        down(layout.settings, CHECKOUT, report.say)
        shutil.rmtree(folder, ignore_errors=True)


def fill(settings: Settings, job: str, version: int, filling: Filling) -> int:
    """Rows of a version of ad_ctr, or of client_spend as sums of those; the first version serves. How many."""
    values = {"job": job, "version": version, "state": "LIVE" if version == 1 else "CAUGHT_UP", **vars(filling)}
    with psycopg.connect(settings.dsn(postgres.OWNER), cursor_factory=psycopg.ClientCursor) as connection:
        connection.execute(_VERSION, values)
        if version == 1:
            connection.execute(_SERVES, values)
        made = connection.execute(_STATEMENTS[job], values).rowcount
    with psycopg.connect(settings.dsn(postgres.OWNER), autocommit=True) as connection:
        connection.execute("vacuum analyze")
    return made


def _start(layout: Layout) -> None:
    for folder in (layout.home, layout.logs, layout.run):
        folder.mkdir(parents=True, exist_ok=True)
    passwords.make(layout.settings)
    postgres.check_reach(layout)
    postgres.prepare(layout)
    supervisor = Supervisor(layout)
    supervisor.start([postgres.program(layout)])
    supervisor.begin([postgres.NAME])
    if not until(lambda: postgres.healthy(layout.settings), PATIENCE_SECONDS):
        log = layout.logs / f"{postgres.NAME}.log"
        raise NotHealthy(postgres.NAME, f"was not healthy within {PATIENCE_SECONDS} s", log)
    postgres.ensure_roles(layout.settings)
    schema.migrate(layout.settings)


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])
