"""Replays and releases in Postgres, as role kappa_registry; rows are dropped as their owner."""

from __future__ import annotations

from collections.abc import Callable

from kappa.registry.releases.hand_over import PostgresHandOver
from kappa.registry.releases.progress import PostgresStanding
from kappa.registry.releases.replays import PostgresReplays
from kappa.registry.releases.retiring import LOCK_SECONDS, Owner, PostgresPins, PostgresRetiring
from kappa.registry.transactions import Database


class PostgresReleases:
    """The Releases over psycopg: a transaction per call, and one more for each table that goes.

    Each act is one of its parts'; what it does and raises, the port says.
    """

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
        self.hand_over = PostgresHandOver(held).hand_over
        self.pin, self.unpin, self.pins = pins.pin, pins.unpin, pins.pins
        self.retire, self.unfreed = retiring.retire, retiring.unfreed
