"""What the registry knows of a version: its state and what may follow, what it runs as, launches, signs of life, the
windows that it serves, and who may act on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from kappa.core.log.kafka_log import Offsets
from kappa.core.refusals import Refusal
from kappa.core.serialization import Serializable


class State(StrEnum):
    """Where a version is in its life (architecture, section 4)."""

    STAGED = "STAGED"
    CATCHING_UP = "CATCHING_UP"
    CAUGHT_UP = "CAUGHT_UP"
    LIVE = "LIVE"
    PREVIOUS = "PREVIOUS"
    RETIRED = "RETIRED"
    FAILED = "FAILED"


class Desired(StrEnum):
    """What an operator wants of a version's driver; kept until changed."""

    RUNNING = "running"
    STOPPED = "stopped"


OVER = frozenset({State.RETIRED, State.FAILED})
"""States in which no driver runs and none is started by itself."""


TRANSITIONS: Mapping[State, frozenset[State]] = {
    State.STAGED: frozenset({State.CATCHING_UP, State.LIVE, State.RETIRED, State.FAILED}),
    State.CATCHING_UP: frozenset({State.CAUGHT_UP, State.RETIRED, State.FAILED}),
    State.CAUGHT_UP: frozenset({State.CATCHING_UP, State.LIVE, State.RETIRED, State.FAILED}),
    State.LIVE: frozenset({State.PREVIOUS, State.FAILED}),
    State.PREVIOUS: frozenset({State.LIVE, State.RETIRED, State.FAILED}),
    State.FAILED: frozenset({State.LIVE, State.PREVIOUS, State.RETIRED}),
    State.RETIRED: frozenset(),
}
"""From each state, the states that may follow. STAGED to LIVE is a job's first deployment: there is nothing
to catch up with. FAILED to LIVE is an operator's restart of the version that serves, FAILED to PREVIOUS that of one
that served before, by a roll-back."""


class IllegalTransition(Refusal):
    """A version was to take a state that cannot follow the one it has."""

    def __init__(self, job: str, version: int, old: State, new: State) -> None:
        allowed = ", ".join(sorted(TRANSITIONS[old])) or "none"
        super().__init__(
            f"{job} v{version} is {old} and cannot become {new} (allowed: {allowed}); nothing was changed. "
            f"Look at it with './kappa status'."
        )


def check_transition(job: str, version: int, old: State, new: State) -> None:
    """Pass when `new` may follow `old`, or is the same. Raises IllegalTransition."""
    if old != new and new not in TRANSITIONS[old]:
        raise IllegalTransition(job, version, old, new)


SELECT_VERSION = """
select v.*, coalesce((select g.folder from registry.generation g
    where (g.job, g.version, g.generation) = (v.job, v.version, v.generation)), 'g' || v.generation) as folder
from registry.job_version v """
"""What `Version.from_json` reads, but for the condition."""

OPEN_END = "infinity"
BEGINNING = "-infinity"


@dataclass(frozen=True)
class Version(Serializable):
    """A version of a job as the registry holds it. `settings` are all resolved settings of the job; `folder` is that of
    its checkpoint's generation, below the version's own.

    `first_appended` is, per partition, a time (append_time, epoch ms) before which nothing of what it is to read was
    appended. Only who stages the version knows it: it is not read back.
    """

    job: str
    version: int
    state: State
    desired: Desired
    artifact: str
    state_digest: str
    result_digest: str
    settings: Mapping[str, int]
    topic: str
    topic_id: str
    starts_at: datetime | None
    start_offsets: Offsets
    generation: int = 1
    folder: str = "g1"
    first_appended: Mapping[int, int] = field(default_factory=dict)

    @property
    def starts_at_ms(self) -> int | None:
        """The first window that it holds, T, in epoch ms (contract, section 3); None: it starts with the log."""
        return None if self.starts_at is None else round(self.starts_at.timestamp() * 1000)

    @property
    def is_to_run(self) -> bool:
        """Whether a driver has anything to do here."""
        return self.desired is Desired.RUNNING and self.state not in OVER


@dataclass(frozen=True)
class Launch:
    """One intended start of a driver; open until `ended`. `claimed_by` is the submission whose driver runs it,
    `standby` the one whose driver stands by for that, warm since `standby_warm_at` (None: not yet)."""

    launch_id: UUID
    job: str
    version: int
    intended_at: datetime
    submission_id: str | None = None
    claimed_by: str | None = None
    ended: bool = False
    standby: str | None = None
    standby_warm_at: datetime | None = None

    @property
    def driver(self) -> str | None:
        """The submission that holds the driver: the one that claimed the launch, else the one recorded."""
        return self.claimed_by or self.submission_id

    @property
    def names(self) -> tuple[str, ...]:
        """What the cluster called its driver, as far as is known, the newest first; last the one that stands by."""
        return tuple(dict.fromkeys(name for name in (self.claimed_by, self.submission_id, self.standby) if name))


@dataclass(frozen=True)
class Heartbeat:
    """The latest sign of life of a version's driver. `age_seconds` is by the database's clock."""

    epoch: int
    submission_id: str
    beat_at: datetime
    age_seconds: float
    committed_at: datetime | None


@dataclass(frozen=True)
class Segment(Serializable):
    """Which version serves the windows from `from_window` up to `to_window`; as text, for they may be
    infinite."""

    job: str
    from_window: str
    to_window: str
    version: int


@dataclass(frozen=True)
class Health:
    """How a version does: seconds since its last heartbeat and commit (None: never), what is unread, how long its last
    batch took, how many groups its state has, its red lines in words, the times of the latest restarts by repair, the
    newest last; when a repair last found the log away, and when one first found it back after that."""

    beat_seconds: float | None
    commit_seconds: float | None
    lag_events: int
    lag_seconds: float
    batch_ms: int | None
    state_rows: int | None = None
    red: tuple[str, ...] = ()
    repairs: tuple[datetime, ...] = ()
    log_away_at: datetime | None = None
    log_back_at: datetime | None = None


LIVE_END = 0
"""The version number under which a job's live end is leased, for a hand-over only."""


@dataclass(frozen=True)
class Lease:
    """The right of one run to act on one version of a job, for a verb, until it is given back or its time is over."""

    job: str
    version: int
    run_id: str
    verb: str
    actor: str
    reason: str | None
    taken_at: datetime
    ends_at: datetime

    def sentence(self) -> str:
        """The holder in words, with the day: a replay holds for days."""
        why = f" ({self.reason})" if self.reason else ""
        until = self.ends_at.strftime("%Y-%m-%d %H:%M UTC")
        what = f"{self.job} v{self.version} is held by a {self.verb} of {self.actor}{why}"
        return f"{what}, run {self.run_id}, until {until}"
