"""The registry in Postgres, and its replays and releases, as role kappa_registry: each put together from its parts."""

from __future__ import annotations

from collections.abc import Callable

from kappa.registry.bookkeeping import PostgresBookkeeping
from kappa.registry.changes import PostgresChanges
from kappa.registry.health import PostgresHealth
from kappa.registry.launches import PostgresLaunches
from kappa.registry.leases import PostgresLeases
from kappa.registry.releases.hand_over import PostgresHandOver
from kappa.registry.releases.progress import PostgresStanding
from kappa.registry.releases.replays import PostgresReplays
from kappa.registry.releases.retiring import LOCK_SECONDS, Owner, PostgresPins, PostgresRetiring
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
        self.revive, self.revive_previous = versions.revive, versions.revive_previous
        self.heartbeat, self.record, self.entries = versions.heartbeat, versions.record, versions.entries
        self.red_lines, self.clear_red_lines = versions.red_lines, versions.clear_red_lines
        self.launch, self.open_launch, self.submissions = launches.launch, launches.open_launch, launches.submissions
        self.intend_launch, self.record_submission = launches.intend_launch, launches.record_submission
        self.record_standby = launches.record_standby
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
        self.attempt, self.begin_attempt, self.record_attempt = (
            launches.attempt,
            launches.begin_attempt,
            launches.record_attempt,
        )
        self.next_generation, self.checkpoint_is_free = changes.next_generation, changes.checkpoint_is_free
        self.folder = changes.folder
        self.has_batches, self.newest_batches = changes.has_batches, changes.newest_batches
        self.health, self.now, self.give_up = health.health, health.now, health.give_up
        self.old_batches, self.fold, self.misbooked = books.old_batches, books.fold, books.misbooked
        self.old_refusals, self.forget = books.old_refusals, books.forget


class PostgresReleases:
    """The Releases over psycopg: a transaction per call, and one more for each table that goes, which is dropped as its
    owner. Each act is one of its parts'; what it does and raises, the port says."""

    def __init__(
        self,
        dsn: str,
        owner_dsn: str,
        lock_seconds: float = LOCK_SECONDS,
        database: Callable[[str], Database] = Database,
        owner: Callable[[str, float], Owner] = Owner,
    ) -> None:
        held = database(dsn)
        replays, standing, pins = PostgresReplays(held), PostgresStanding(held), PostgresPins(held)
        retiring = PostgresRetiring(held, owner(owner_dsn, lock_seconds))
        self.stage_candidates, self.end_replay = replays.stage_candidates, replays.end_replay
        self.replay, self.open_replays, self.replay_ended_at = (
            replays.replay,
            replays.open_replays,
            replays.replay_ended_at,
        )
        self.replay_of_run, self.replay_of_versions = replays.replay_of_run, replays.replay_of_versions
        self.note_validation, self.note_answer = replays.note_validation, replays.note_answer
        self.standing, self.weighed = standing.standing, standing.weighed
        self.releases, self.previous_since = standing.releases, standing.previous_since
        self.failed_since = standing.failed_since
        self.hand_over = PostgresHandOver(held).hand_over
        self.pin, self.unpin, self.pins = pins.pin, pins.unpin, pins.pins
        self.retire, self.unfreed = retiring.retire, retiring.unfreed
