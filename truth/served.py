"""What the database shows of a job at one moment, and the port by which it is asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Protocol

from truth.days import Client
from truth.fates import Rules


@dataclass(frozen=True)
class ServedRow:
    """A row of a minute view; `ctr` as the database writes it, None for null."""

    impressions: int
    clicks: int
    spend_micros: int
    duplicates: int
    repeated_clicks: int
    ctr: Decimal | None


@dataclass(frozen=True)
class ServedDay:
    """A row of serving.client_spend_day, without its finality."""

    time_zone: str
    currency: str | None
    budget_micros: int | None
    impressions: int
    clicks: int
    spend_micros: int


@dataclass(frozen=True)
class Served:
    """One job's live version: its rules, offsets (partition -> next), accounting, and what it serves.

    `from_ms`: where its open segment begins, None for the beginning of time; rows of earlier windows are
    another version's. `minutes`: (values of `keys`..., minute start in ms) -> row. `days`: (client_id,
    date) -> day. Which of `minutes`, `days` and `quarantine` there are depends on the job; None: it serves
    no such thing. `kept_from`: partition -> the offset before which `quarantine` is no longer kept, if any.
    """

    job: str
    version: int
    rules: Rules
    start: dict[int, int]
    end: dict[int, int]
    from_ms: int | None
    records: dict[str, int]
    micros: dict[str, int]
    keys: tuple[str, ...] = ()
    minutes: dict[tuple[object, ...], ServedRow] | None = None
    days: dict[tuple[str, date], ServedDay] | None = None
    quarantine: dict[tuple[int, int], str] | None = None
    kept_from: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Snapshot:
    """All live versions and the clients, as of one moment."""

    jobs: tuple[Served, ...]
    clients: tuple[Client, ...] = field(default=())


class Database(Protocol):
    """Where the served numbers are."""

    def progress(self) -> dict[str, dict[int, int]]:
        """job -> partition -> next offset that its live version has committed."""

    def snapshot(self, jobs: frozenset[str] | None) -> Snapshot:
        """The live versions of these jobs, or of all, in one transaction."""
