"""Which incidents open and which are over, decided from one look and from what was open before; nothing is done."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from kappa.status.causes import PARTS, STANDS_STILL, SYMPTOMS, Cause, kind

OPENS_AFTER_SECONDS = 15.0
"""What is gone within this is told to nobody: a part that is started again, say."""
ENDS_AFTER_SECONDS = 30.0
"""What comes back within this was never over."""


Key = tuple[str, str]


@dataclass(frozen=True)
class Finding:
    """Something that one look found wrong: with what (a job's version, a part), in which words, since when (epoch
    seconds; None where nobody knows). A version that does not `serve` is read by nobody. What `is_expected` for now
    opens no incident, and keeps one open."""

    cause: Cause
    subject: str
    what: str
    since: float | None = None
    serves: bool = True
    is_expected: bool = False

    @property
    def key(self) -> Key:
        """What is the same while this is the same incident, in other words maybe."""
        return kind(self.cause), self.subject


@dataclass(frozen=True)
class Pending:
    """The key of findings that are too young to be an incident; times are epoch seconds."""

    key: Key
    first_seen: float


@dataclass(frozen=True)
class Incident:
    """One cause, with all that it concerned when it opened, and whether any of that serves; `what` are its newest
    words, times are epoch seconds."""

    number: int
    cause: Cause
    subjects: tuple[str, ...]
    what: tuple[str, ...]
    since: float
    opened: float
    seen: float
    serves: bool = True
    is_expected: bool = False

    @property
    def keys(self) -> frozenset[Key]:
        """The keys of its findings."""
        return frozenset((kind(self.cause), subject) for subject in self.subjects)


@dataclass(frozen=True)
class Book:
    """What is known from one look to the next."""

    open: tuple[Incident, ...] = ()
    pending: tuple[Pending, ...] = ()
    last_number: int = 0


@dataclass(frozen=True)
class Change:
    """What one look changed."""

    book: Book
    opened: tuple[Incident, ...]
    over: tuple[Incident, ...]


def decide(book: Book, found: Sequence[Finding], unknown: Collection[Cause], at: float) -> Change:
    """What opens and what is over at this moment. Of `unknown` causes nobody can tell: their incidents stay open.

    A finding opens an incident once it was there for OPENS_AFTER_SECONDS; all of its kind that are there by then are
    one incident, later ones another. It is over once none of them was there for ENDS_AFTER_SECONDS.
    """
    kept = [_looked_at(_before(incident, at), found, unknown, at) for incident in book.open]
    over = tuple(incident for incident in kept if at - incident.seen >= ENDS_AFTER_SECONDS)
    still = tuple(incident for incident in kept if incident not in over)
    fresh = _unexplained(found, still)
    pending = _waiting(book.pending, fresh, at)
    ripe = {waiting.key[0] for waiting in pending if at - waiting.first_seen >= OPENS_AFTER_SECONDS}
    opened = _opened(ripe, _dated(fresh, pending), book.last_number, at)
    young = tuple(waiting for waiting in pending if waiting.key[0] not in ripe)
    return Change(Book((*still, *opened), young, book.last_number + len(opened)), opened, over)


def _before(incident: Incident, at: float) -> Incident:
    """A clock that was put back has seen it in its future, and would not see its end before that."""
    return replace(incident, seen=min(incident.seen, at))


def _looked_at(incident: Incident, found: Sequence[Finding], unknown: Collection[Cause], at: float) -> Incident:
    again = [finding for finding in found if finding.key in incident.keys]
    if again:
        return replace(incident, seen=at, what=tuple(finding.what for finding in again))
    return replace(incident, seen=at) if incident.cause in unknown else incident


def _unexplained(found: Sequence[Finding], still: Sequence[Incident]) -> list[Finding]:
    """The findings that nobody expects, that no open incident has, and that are no symptom of a part that is away."""
    known = {key for incident in still for key in incident.keys}
    is_away = PARTS & ({finding.cause for finding in found} | {incident.cause for incident in still})
    explained = SYMPTOMS if is_away else frozenset()
    unexpected = (finding for finding in found if not finding.is_expected)
    return [finding for finding in unexpected if finding.key not in known and finding.cause not in explained]


def _waiting(before: Iterable[Pending], fresh: Iterable[Finding], at: float) -> list[Pending]:
    since = {waiting.key: min(waiting.first_seen, at) for waiting in before}
    return [Pending(key, since.get(key, at)) for key in dict.fromkeys(finding.key for finding in fresh)]


def _dated(fresh: Iterable[Finding], pending: Iterable[Pending]) -> list[Finding]:
    """Of what nobody knows the beginning it is the look that saw it first."""
    first_seen = {waiting.key: waiting.first_seen for waiting in pending}
    return [
        finding if finding.since is not None else replace(finding, since=first_seen[finding.key]) for finding in fresh
    ]


def _opened(kinds: set[str], fresh: Iterable[Finding], last_number: int, at: float) -> tuple[Incident, ...]:
    of_kind: dict[str, list[Finding]] = {}
    for finding in sorted(fresh, key=lambda finding: _ORDER.index(finding.cause)):
        of_kind.setdefault(finding.key[0], []).append(finding)
    ripe = [found for name, found in of_kind.items() if name in kinds]
    return tuple(_incident(number, found, at) for number, found in enumerate(ripe, last_number + 1))


def _incident(number: int, found: Sequence[Finding], at: float) -> Incident:
    since = min([at, *(finding.since for finding in found if finding.since is not None)])
    subjects = tuple(dict.fromkeys(finding.subject for finding in found))
    serves = any(finding.serves for finding in found)
    return Incident(number, found[0].cause, subjects, tuple(finding.what for finding in found), since, at, at, serves)


_ORDER = (*(cause for cause in Cause if cause not in STANDS_STILL), *STANDS_STILL)
