"""Both Releases for the contract tests: the fake and the one in Postgres, over two jobs that each serve version 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from uuid import uuid4

import psycopg

from kappa.core.audit import Author
from kappa.core.installation.settings import Settings
from kappa.core.log.kafka_log import Offsets
from kappa.core.replays import Approval, HandOver, Replay
from kappa.core.validation import Band, Direction, Parity
from kappa.core.versions import BEGINNING, OPEN_END, Segment, State
from kappa.registry.port import Registry
from kappa.registry.postgres import PostgresRegistry, PostgresReleases
from kappa.registry.releases_port import Releases
from tests.plugins.fake_releases import FakeReleases
from tests.plugins.fakes import FakeRegistry
from tests.plugins.registries import BY, PostgresTrial, version

T = "2026-01-31 12:00:00+00"
START = {0: 5, 1: 0}
"""Where every version of these tests starts to read."""


class ReleaseTrial(Protocol):
    """Releases with two jobs of the test's own, and what their drivers do."""

    @property
    def names(self) -> tuple[str, str]:
        """The jobs."""

    @property
    def registry(self) -> Registry:
        """The registry of the same versions."""

    @property
    def releases(self) -> Releases:
        """The Releases on trial."""

    def read(self, job: str, number: int, reached: Offsets, ends: Offsets | None = None) -> None:
        """A version's driver commits up to these offsets, and may learn the ends of the log."""

    def write(self, job: str, number: int) -> None:
        """A version gets a row."""

    def stuck(self, job: str) -> AbstractContextManager[None]:
        """A batch of version 1 does not end."""

    def in_use(self, job: str, number: int) -> AbstractContextManager[None]:
        """A reader's transaction goes on and on."""

    def epoch(self, job: str, number: int) -> int:
        """The epoch of a version's fence."""


@dataclass
class FakeReleaseTrial:
    """The fake on trial."""

    names: tuple[str, str]
    registry: FakeRegistry = field(default_factory=FakeRegistry)

    def __post_init__(self) -> None:
        self.releases = FakeReleases(self.registry)

    def read(self, job: str, number: int, reached: Offsets, ends: Offsets | None = None) -> None:
        self.registry.next_offsets[job, number] = dict(reached)
        if ends:
            self.registry.ends[job, number] = dict(ends)

    def write(self, job: str, number: int) -> None:
        self.registry.known(job, number)

    @contextmanager
    def stuck(self, job: str) -> Iterator[None]:
        self.releases.stuck.add((job, 1))
        yield
        self.releases.stuck.remove((job, 1))

    @contextmanager
    def in_use(self, job: str, number: int) -> Iterator[None]:
        self.releases.in_use.add((job, number))
        yield
        self.releases.in_use.remove((job, number))

    def epoch(self, job: str, number: int) -> int:
        return self.registry.epochs[job, number]


@dataclass
class PostgresReleaseTrial:
    """The Releases in Postgres on trial; what jobs write is written as the role that jobs write as."""

    names: tuple[str, str]
    settings: Settings

    @property
    def registry(self) -> Registry:
        """The registry of the same versions."""
        return PostgresRegistry(self.settings.dsn("kappa_registry"))

    @property
    def releases(self) -> PostgresReleases:
        """The Releases on trial; they do not wait long for readers."""
        return PostgresReleases(self.settings.dsn("kappa_registry"), self.settings.dsn("kappa_owner"), 1.5)

    def read(self, job: str, number: int, reached: Offsets, ends: Offsets | None = None) -> None:
        with psycopg.connect(self.settings.dsn("kappa_writer")) as writer:
            for partition, offset in reached.items():
                writer.execute(
                    "update registry.progress set next_offset = %s, end_offset = coalesce(%s, end_offset) "
                    'where job = %s and version = %s and "partition" = %s',
                    [offset, (ends or {}).get(partition), job, number, partition],
                )

    def write(self, job: str, number: int) -> None:
        with psycopg.connect(self.settings.dsn("kappa_owner")) as owner:
            owner.execute(f"insert into data.{job} values ({number})")

    @contextmanager
    def stuck(self, job: str) -> Iterator[None]:
        with psycopg.connect(self.settings.dsn("kappa_writer")) as writer:
            writer.execute("select 1 from registry.fence where job = %s and version = 1 for share", [job])
            yield

    @contextmanager
    def in_use(self, job: str, number: int) -> Iterator[None]:
        with psycopg.connect(self.settings.dsn("kappa_owner")) as reader:
            reader.execute("set transaction isolation level repeatable read")
            reader.execute(f"select count(*) from data.{job} where version = {number}")
            yield

    def epoch(self, job: str, number: int) -> int:
        with psycopg.connect(self.settings.dsn("kappa_registry")) as connection:
            (found,) = connection.execute(
                "select epoch from registry.fence where job = %s and version = %s", [job, number]
            ).fetchall()
            return int(found[0])

    @contextmanager
    def prepared(self) -> Iterator[PostgresReleaseTrial]:
        """With the jobs' tables; afterwards nothing is left of them."""
        with ExitStack() as both:
            for name in self.names:
                both.enter_context(PostgresTrial(name, self.settings).prepared())
            yield self


def author(run: str = "run") -> Author:
    """Somebody, in a run of its own."""
    return Author("tester", f"{run}-{uuid4()}", "because")


def serve(trial: ReleaseTrial) -> None:
    """Version 1 of both jobs serves all windows."""
    for job in trial.names:
        trial.registry.stage(version(job), BY, {})
        trial.registry.go_live(job, 1, BY)


def attempt(trial: ReleaseTrial, by: Author, number: int = 2) -> Replay:
    """A replay of both jobs, as it is planned."""
    return Replay(
        replay_id=uuid4(), run_id=by.run_id, versions=dict.fromkeys(trial.names, number),
        live=dict.fromkeys(trial.names, 1), starts_ms=1_769_860_800_000, parity=Parity.DECLARED,
        bands=(Band("clicks", Direction.DOWN, 100), Band("spend_micros", Direction.ANY, None)),
        approval=Approval.ASK, promote=True,
        asked_by=by.actor, reason=by.reason, price={"records": 7},
    )  # fmt: skip


def stage(trial: ReleaseTrial, by: Author, number: int = 2) -> Replay:
    """A replay whose candidates were staged."""
    candidates = [version(job, number) for job in trial.names]
    return trial.releases.stage_candidates(candidates, attempt(trial, by, number), by)


def candidates(trial: ReleaseTrial, by: Author, number: int = 2) -> Replay:
    """A replay whose candidates have caught up."""
    staged = stage(trial, by, number)
    for job in trial.names:
        set_caught_up(trial, job, number)
    return staged


def set_caught_up(trial: ReleaseTrial, job: str, number: int) -> None:
    """A candidate's way to CAUGHT_UP."""
    trial.registry.set_state(job, number, State.STAGED, State.CATCHING_UP)
    trial.registry.set_state(job, number, State.CATCHING_UP, State.CAUGHT_UP)


def plan(trial: ReleaseTrial, target: int = 2, old: int = 1, at: str = T) -> HandOver:
    """All windows from `at` on go to `target`, for both jobs."""
    before = [segment for job in trial.names for segment in trial.registry.segments(job)]
    return HandOver(
        jobs=trial.names, before=tuple(before), after=split(trial.names, old, target, at),
        targets=dict.fromkeys(trial.names, target), olds=dict.fromkeys(trial.names, old), from_window=at,
    )  # fmt: skip


def split(names: tuple[str, ...], old: int, target: int, at: str = T) -> tuple[Segment, ...]:
    """Segments: up to `at` the old version, from then on the target."""
    spans = ((BEGINNING, at, old), (at, OPEN_END, target))
    return tuple(Segment(job, begins, ends, number) for job in names for begins, ends, number in spans)


def whole(names: tuple[str, ...], number: int) -> tuple[Segment, ...]:
    """Segments: all windows one version."""
    return tuple(Segment(job, BEGINNING, OPEN_END, number) for job in names)


def back(trial: ReleaseTrial) -> HandOver:
    """All windows go back to version 1."""
    return replace(plan(trial, 1, 2), after=whole(trial.names, 1), from_window=BEGINNING)


def picture(trial: ReleaseTrial) -> Mapping[str, Any]:
    """All that a hand-over may move."""
    return {
        job: (
            trial.registry.segments(job),
            [held.state for held in trial.registry.versions(job)],
            trial.releases.releases(job),
        )
        for job in trial.names
    }


def states(trial: ReleaseTrial) -> list[list[State]]:
    """The states of all versions, by job."""
    return [[held.state for held in trial.registry.versions(job)] for job in trial.names]


def served(trial: ReleaseTrial) -> list[object]:
    """The segments of both jobs."""
    return [segment for job in trial.names for segment in trial.registry.segments(job)]


def actions(trial: ReleaseTrial, run_id: str) -> list[tuple[str, str | None, int | None]]:
    """What a run wrote into the audit."""
    return [(entry.action, entry.job, entry.version) for entry in trial.registry.entries(run_id)]
