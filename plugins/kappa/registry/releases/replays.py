"""The replays in Postgres: candidates staged in one transaction, what the validation found, what was answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from kappa.core.audit import Author, Entry
from kappa.core.replays import Answer, Replay
from kappa.core.versions import Version
from kappa.registry import staging
from kappa.registry.releases_port import UnknownReplay
from kappa.registry.transactions import Connection, Database, audit, take_turn

_REPLAY = "select *, ended_at is not null as ended from registry.replay "
_INSERT = """
insert into registry.replay (replay_id, run_id, versions, live, starts_ms, parity, bands, approval, promote,
    asked_by, reason, price)
values (%(replay_id)s, %(run_id)s, %(versions)s, %(live)s, %(starts_ms)s, %(parity)s, %(bands)s, %(approval)s,
    %(promote)s, %(asked_by)s, %(reason)s, %(price)s)"""
_VALIDATE = """
update registry.replay set validation = %s, validated_at = clock_timestamp()
where replay_id = %s and answer is null and ended_at is null"""
_ANSWER = """
update registry.replay set answer = %s, answered_by = %s, answered_at = clock_timestamp()
where replay_id = %s and answer is null and ended_at is null"""
_ENDED_AT = "select ended_at from registry.replay where versions @> %s order by begun_at desc limit 1"
_END = """
update registry.replay set outcome = %s, ended_at = clock_timestamp() where replay_id = %s and ended_at is null"""


@dataclass(frozen=True)
class PostgresReplays:
    """The part of Releases that remembers the attempts."""

    database: Database

    def stage_candidates(self, versions: Sequence[Version], replay: Replay, by: Author) -> Replay:
        """Make the candidates and the replay; what the same run made before, if it did. Raises StagedByAnother."""
        told = {"replay_id": str(replay.replay_id), "live": dict(replay.live), "price": dict(replay.price)}
        candidates = sorted(versions, key=lambda version: version.job)
        if {version.job: version.version for version in candidates} != dict(replay.versions):
            raise ValueError(f"the replay names {dict(replay.versions)}, not the versions to stage")
        with self.database.transaction() as connection:
            for version in candidates:
                take_turn(connection, version.job)
            if found := _find(connection, "where run_id = %s", [by.run_id]):
                return found
            for version in candidates:
                if not staging.insert_version(connection, version, by, staging.REPLAYED, told):
                    raise staging.staged_by_another(connection, version)
            connection.execute(_INSERT, {**_row(replay), "run_id": by.run_id})
            return _one(connection, replay.replay_id)

    def replay(self, replay_id: UUID) -> Replay:
        """A replay as it is now. Raises UnknownReplay."""
        with self.database.transaction() as connection:
            return _one(connection, replay_id)

    def replay_of_run(self, run_id: str) -> Replay | None:
        """The replay that a run made, if it made one."""
        with self.database.transaction() as connection:
            return _find(connection, "where run_id = %s", [run_id])

    def replay_of_versions(self, versions: Mapping[str, int]) -> Replay | None:
        """The newest replay whose candidates these versions (by job) were, if there was one."""
        with self.database.transaction() as connection:
            return newest_replay_of(connection, versions)

    def replay_ended_at(self, job: str, version: int) -> datetime | None:
        """When the newest replay ended whose candidate the version was; None while it is open, or without one."""
        with self.database.transaction() as connection:
            row = connection.execute(_ENDED_AT, [Jsonb({job: version})]).fetchone()
            return row["ended_at"] if row else None

    def open_replays(self) -> list[Replay]:
        """The replays that have not ended, the oldest first."""
        with self.database.transaction() as connection:
            rows = connection.execute(f"{_REPLAY} where ended_at is null order by begun_at, replay_id")
            return [_replay(row) for row in rows]

    def note_validation(self, replay_id: UUID, result: Mapping[str, Any]) -> Replay:
        """Keep the newest result of the validation, unless the replay has been answered or has ended; the replay.

        Raises UnknownReplay.
        """
        with self.database.transaction() as connection:
            connection.execute(_VALIDATE, [Jsonb(dict(result)), replay_id])
            return _one(connection, replay_id)

    def note_answer(self, replay_id: UUID, answer: Answer, by: Author) -> Replay:
        """Keep who answered what; the first answer counts, none after the end. The replay as it is now.

        Raises UnknownReplay.
        """
        with self.database.transaction() as connection:
            noted = connection.execute(_ANSWER, [answer, by.actor, replay_id]).rowcount
            found = _one(connection, replay_id)
            for job, version in sorted(found.versions.items()) if noted else ():
                audit(connection, Entry(by, "replay.answered", job, version, answered(found)))
            return found

    def end_replay(self, replay_id: UUID, outcome: str) -> Replay:
        """End the replay; the first outcome counts. The replay as it is now. Raises UnknownReplay."""
        with self.database.transaction() as connection:
            connection.execute(_END, [outcome, replay_id])
            return _one(connection, replay_id)


def newest_replay_of(connection: Connection, versions: Mapping[str, int]) -> Replay | None:
    """The latest replay whose candidates these versions were."""
    return _find(connection, "where versions @> %s order by begun_at desc limit 1", [Jsonb(dict(versions))])


def answered(replay: Replay) -> Mapping[str, Any]:
    """The answer for the audit."""
    return {"replay_id": str(replay.replay_id), "answer": replay.answer, "asked_by": replay.asked_by}


def _one(connection: Connection, replay_id: UUID) -> Replay:
    found = _find(connection, "where replay_id = %s", [replay_id])
    if found is None:
        raise UnknownReplay(replay_id)
    return found


def _find(connection: Connection, where: str, values: list[Any]) -> Replay | None:
    row = connection.execute(_REPLAY + where, values).fetchone()
    return _replay(row) if row else None


def _row(replay: Replay) -> dict[str, Any]:
    held = {name: Jsonb(dict(getattr(replay, name))) for name in ("versions", "live", "price")}
    return {**vars(replay), **held, "bands": Jsonb([band.to_json() for band in replay.bands])}


def _replay(row: DictRow) -> Replay:
    return Replay.from_json(row)
