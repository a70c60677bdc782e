"""A stage whose registry and releases are those in Postgres; its database goes by the clock of the stage."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID

import psycopg
from psycopg import sql

from jobs.driver.heartbeat import Beat
from jobs.driver.registry import DriverRegistry
from kappa.core.changes import Change, Mark
from kappa.core.installation.settings import Settings
from kappa.core.log.kafka_log import Offsets
from kappa.core.versions import Desired
from kappa.platform import Platform
from stack import schema
from stack.services import postgres
from stack.services.passwords import SUPERUSER
from tests.plugins.fakes import NOON, FakeClock, FakeCluster, FakeLog
from tests.plugins.registries import PostgresTrial
from tests.plugins.stages import AnyStage, write_checkout
from tests.plugins.watched import WatchedRegistry, WatchedReleases

DATABASE = "stage"
# Found before those of pg_catalog by all that names no schema: what defaults, views and statements take for the time.
_CLOCK = """
create schema clock;
create table clock.hand (at timestamptz not null);
insert into clock.hand values ('-infinity');
create function clock.clock_timestamp() returns timestamptz language sql volatile as 'select at from clock.hand';
create function clock.statement_timestamp() returns timestamptz language sql stable as 'select at from clock.hand';
grant usage on schema clock to public;
grant select on clock.hand to public"""
_BY_THE_CLOCK = "alter database {} set search_path = public, clock, pg_catalog"
# Faster than a database anew. What a killed run has held is free as soon as the server has missed it.
_EMPTY = r"""
do $$
declare
    name regclass;
begin
    set local session_replication_role = replica;
    for name in select oid from pg_class where relnamespace = 'data'::regnamespace and relkind = 'r'
            and relname ~ '_v\d+$' loop
        execute format('drop table %s', name);
    end loop;
    for name in select oid from pg_class where relnamespace = 'registry'::regnamespace and relkind = 'r'
            and relname <> 'output' loop
        execute format('delete from %s', name);
    end loop;
end $$"""
_READ = """
update registry.progress p set next_offset = e.reached, end_offset = e.reached, drained_at = clock_timestamp()
from unnest(%s::integer[], %s::bigint[]) as e(number, reached)
where p.job = %s and p.version = %s and p."partition" = e.number"""
_READERS_WAIT_SECONDS = 1.5


def prepare(parts: Settings) -> Settings:
    """Make the database of all stages, which have it one after another; the settings that name it."""
    settings = replace(parts, database=DATABASE)
    postgres.ensure_roles(settings)
    with _superuser(settings) as connection:
        connection.execute(_CLOCK)
        connection.execute(sql.SQL(_BY_THE_CLOCK).format(sql.Identifier(DATABASE)))
    schema.migrate(settings)
    return settings


@contextmanager
def stage_on_postgres(prepared: Settings, folder: Path) -> Iterator[PostgresStage]:
    """A stage whose database is empty."""
    settings = replace(prepared, home=folder / "state")
    settings.home.mkdir(parents=True)
    os.symlink(prepared.secrets, settings.secrets)
    with _superuser(settings) as hand, _drivers(settings, hand) as drivers:
        hand.execute(_EMPTY)
        yield _stage(settings, drivers, write_checkout(folder / "checkout"))


@dataclass
class PostgresDrivers:
    """What drivers ask and tell the registry, as the role that drivers have."""

    settings: Settings
    clock: FakeClock
    registry: WatchedRegistry
    writer: psycopg.Connection
    at_work: dict[tuple[str, int], DriverRegistry] = field(default_factory=dict)

    def change(self, change_id: UUID) -> Change:
        return self.registry.change(change_id)

    def mark(self, change_id: UUID, mark: Mark) -> None:
        self.registry.mark(change_id, mark)

    def is_intended(self, launch_id: UUID) -> bool:
        return self.of().launch_has_ended(str(launch_id)) is not None

    def claim(self, launch_id: UUID, submission_id: str) -> bool:
        return self.of().claim(str(launch_id), submission_id)

    def wanted(self, job: str, version: int) -> Desired:
        return Desired(self.of(job, version).describe().desired)

    def leave(self, launch_id: UUID, submission_id: str) -> None:
        self.of().end_launch(str(launch_id), submission_id)

    def beat(self, job: str, version: int, submission_id: str, epoch: int, commits: bool) -> None:
        driver = self.of(job, version)
        committed_ms = round(self.clock.now().timestamp() * 1000) if commits else None
        generation = driver.describe().generation
        driver.beat(Beat(epoch, 1, None, submission_id, generation, committed_ms=committed_ms))

    def of(self, job: str = "any", version: int = 1) -> DriverRegistry:
        """A version's side of the registry; its connection is kept."""
        return self.at_work.setdefault((job, version), DriverRegistry(self.settings, job, version))


@dataclass
class PostgresStage(AnyStage):
    """A platform whose registry and releases are in Postgres."""

    drivers: PostgresDrivers

    def read(self, job: str, version: int, ends: Offsets) -> None:
        self.drivers.writer.execute(_READ, [list(ends), list(ends.values()), job, version])

    def commit(self, job: str, version: int, generation: int) -> None:
        assert version == 1
        PostgresTrial(job, self.platform.settings).commit(generation)


def _stage(settings: Settings, drivers: PostgresDrivers, checkout: Path) -> PostgresStage:
    registry, clock, cluster = drivers.registry, drivers.clock, FakeCluster(drivers)
    now_ms = int(NOON.timestamp() * 1000)
    log = FakeLog({0: 0, 1: 0}, {0: [now_ms - 60_000], 1: []})
    releases = WatchedReleases(
        settings.dsn("kappa_registry"), settings.dsn(postgres.OWNER), lock_seconds=_READERS_WAIT_SECONDS
    )
    platform = Platform(settings, registry, cluster, log.opened, clock, releases)
    made = PostgresStage(platform, cluster, clock, log, checkout, drivers)
    made.build()
    assert registry.now() == clock.now(), "the database goes by another clock"
    return made


@contextmanager
def _drivers(settings: Settings, hand: psycopg.Connection) -> Iterator[PostgresDrivers]:
    """Drivers whose registry has the time of their clock, from now on."""
    clock = FakeClock()

    def tell() -> None:
        hand.execute("update clock.hand set at = %s", [clock.now()])

    tell()
    clock.meanwhile.append(tell)
    with psycopg.connect(settings.dsn("kappa_writer"), autocommit=True) as writer:
        made = PostgresDrivers(settings, clock, WatchedRegistry(settings.dsn("kappa_registry")), writer)
        try:
            yield made
        finally:
            for driver in made.at_work.values():
                driver.close()


def _superuser(settings: Settings) -> psycopg.Connection:
    return psycopg.connect(settings.dsn(SUPERUSER), autocommit=True, connect_timeout=10)
