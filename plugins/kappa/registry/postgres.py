"""The registry in Postgres, as role kappa_registry, put together from its parts."""

from __future__ import annotations

from collections.abc import Callable

from kappa.registry.bookkeeping import PostgresBookkeeping
from kappa.registry.changes import PostgresChanges
from kappa.registry.health import PostgresHealth
from kappa.registry.launches import PostgresLaunches
from kappa.registry.leases import PostgresLeases
from kappa.registry.transactions import Database
from kappa.registry.versions import PostgresVersions


class PostgresRegistry:
    """The Registry over psycopg: a transaction per call. Each act is one of its parts'; what it does and raises, the
    port says."""

    def __init__(self, dsn: str, database: Callable[[str], Database] = Database) -> None:
        held = database(dsn)
        versions, launches, leases = PostgresVersions(held), PostgresLaunches(held), PostgresLeases(held)
        changes, health, books = PostgresChanges(held), PostgresHealth(held), PostgresBookkeeping(held)
        self.versions, self.stage, self.go_live = versions.versions, versions.stage, versions.go_live
        self.segments, self.desire, self.set_state = versions.segments, versions.desire, versions.set_state
        self.heartbeat, self.record, self.entries = versions.heartbeat, versions.record, versions.entries
        self.red_lines, self.clear_red_lines = versions.red_lines, versions.clear_red_lines
        self.launch, self.open_launch, self.submissions = launches.launch, launches.open_launch, launches.submissions
        self.intend_launch, self.record_submission = launches.intend_launch, launches.record_submission
        self.end_launch, self.raise_epoch = launches.end_launch, launches.raise_epoch
        self.drained_since = launches.drained_since
        self.lease, self.take_lease, self.release_leases = leases.lease, leases.take_lease, leases.release_leases
        self.change, self.open_change, self.begin_change = changes.change, changes.open_change, changes.begin_change
        self.hold, self.switch, self.end_change, self.mark = (
            changes.hold,
            changes.switch,
            changes.end_change,
            changes.mark,
        )
        self.next_generation, self.checkpoint_is_free = changes.next_generation, changes.checkpoint_is_free
        self.folder = changes.folder
        self.has_batches, self.newest_batches = changes.has_batches, changes.newest_batches
        self.health, self.now, self.give_up = health.health, health.now, health.give_up
        self.old_batches, self.fold, self.misbooked = books.old_batches, books.fold, books.misbooked
        self.old_refusals, self.forget = books.old_refusals, books.forget
