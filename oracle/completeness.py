"""How far a version is complete, and from where on the log proves what it counted (contract, section 3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from oracle.fates import CLOCKS_MS, MINUTE_MS, Ledger, Row
from oracle.served import Segment, Served, ServingVersion

FINALITY = {True: "provisional", False: "open"}


@dataclass(frozen=True)
class Standing:
    """A version that serves, and what the log says of it; times in ms.

    `complete_through`: None where it is unknown. `exact_from`: the first window of which the log still holds every
    record, None: of all that it read. `lost`: the log ends before what the version has read, so it is another log.
    """

    version: ServingVersion
    ledger: Ledger
    complete_through: int | None
    exact_from: int | None
    lost: bool

    def is_final(self, last_minute: int) -> bool:
        """Whether no record can change the window that starts then any more."""
        return self.complete_through is not None and last_minute + MINUTE_MS <= self.complete_through

    def proves(self, minute: int) -> bool:
        """Whether the log still holds all records of the window that starts then."""
        return not self.lost and (self.exact_from is None or minute >= self.exact_from)


@dataclass(frozen=True)
class Serving:
    """A job's segments, each with the standing of its version."""

    served: Served
    standings: Mapping[int, Standing]

    def at(self, minute: int) -> Standing:
        """Who serves the window that starts then."""
        return self.standings[next(s.version for s in self.served.segments if s.holds(minute))]

    def expected(self, fields: tuple[str, ...]) -> dict[tuple[object, ...], Row]:
        """(values of the fields..., minute) -> what must be served, of the windows that the log proves."""
        rows = dict[tuple[object, ...], Row]()
        for segment in self.served.segments:
            standing = self.standings[segment.version]
            for key, row in standing.ledger.rows.get(fields, {}).items():
                minute = key[-1]
                assert isinstance(minute, int)
                if segment.holds(minute) and standing.proves(minute):
                    rows[key] = row
        return rows

    def proves(self, windows: Sequence[int]) -> bool:
        """Whether the log still holds all records of all these windows."""
        return all(self.standings[version].proves(mine[0]) for version, mine in self._shares(windows))

    def finality(self, windows: Sequence[int]) -> str:
        """That of a day with these windows: each version has to be through with its share of them, rows or not."""
        return FINALITY[all(self.standings[version].is_final(mine[-1]) for version, mine in self._shares(windows))]

    def unproved(self) -> Iterator[tuple[Segment, Standing]]:
        """The segments of which the log no longer holds all."""
        for segment in self.served.segments:
            standing = self.standings[segment.version]
            begins, exact = segment.from_ms, standing.exact_from
            if standing.lost or (exact is not None and (begins is None or begins < exact)):
                yield segment, standing

    def _shares(self, windows: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
        for segment in self.served.segments:
            if mine := [minute for minute in windows if segment.holds(minute)]:
                yield segment.version, mine


def standing(version: ServingVersion, ledger: Ledger, ends: Mapping[int, int], at_ms: int) -> Standing:
    """What the log says of a version; `ends` is where the log ends, `at_ms` the database's time of the snapshot."""
    lost = any(end > ends.get(partition, 0) for partition, end in version.end.items())
    through = _complete_through(version, ledger, lost)
    return Standing(version, ledger, through, _exact_from(version, ledger, at_ms), lost)


def _complete_through(version: ServingVersion, ledger: Ledger, lost: bool) -> int | None:
    """The least append_time up to which every partition has been read, less the allowed lateness and a minute.

    What was read is taken from the log; when nothing was unread only the registry can know: see `impossible`.
    """
    reached = [_reached(version, ledger, partition, lost) for partition in version.start]
    known = [at for at in reached if at is not None]
    if not reached or len(known) < len(reached):
        return None
    return min(known) - version.rules.allowed_lateness_ms - CLOCKS_MS


def _reached(version: ServingVersion, ledger: Ledger, partition: int, lost: bool) -> int | None:
    """What is no longer in the log is taken as the registry tells it."""
    told, read = version.told.get(partition), ledger.newest.get(partition)
    if lost or (read is None and _is_cut(version, ledger, partition)):
        read = None if told is None else told.read_ms
    times = [at for at in (read, None if told is None else told.drained_ms) if at is not None]
    return max(times, default=None)


def impossible(standing: Standing, at_ms: int) -> Iterator[tuple[int, int, int]]:
    """(partition, the latest time that is possible, the time) of which the registry claims that nothing was unread
    then, when by the log something was.

    A partition that was read to its end counts as read up to then, which no record tells. But each record that is
    unread now was appended after it, by the broker's clock, which may differ from the database's by a minute.
    """
    for partition, told in sorted(standing.version.told.items()):
        unread = standing.ledger.unread.get(partition)
        most = at_ms if unread is None else min(at_ms, unread + CLOCKS_MS)
        if told.drained_ms is not None and told.drained_ms > most and not standing.lost:
            yield partition, most, told.drained_ms


def _exact_from(version: ServingVersion, ledger: Ledger, at_ms: int) -> int | None:
    """The first window of which every record is still in the log; None: the log holds all that the version read.

    A record of a window is appended at or after the window's start less the future bound, and those of a partition in
    the order of their append times, but for a minute by which the broker's clock may go back.
    """
    begins = [
        ledger.first_append.get(partition, _last_known(version, partition, at_ms))
        for partition in version.start
        if _is_cut(version, ledger, partition)
    ]
    if not begins:
        return None
    return -(-(max(begins) + version.rules.future_bound_ms + CLOCKS_MS) // MINUTE_MS) * MINUTE_MS


def _is_cut(version: ServingVersion, ledger: Ledger, partition: int) -> bool:
    """Whether records that the version read are gone: the log begins after its start, or holds nothing after it."""
    start, end = version.start[partition], version.end.get(partition, 0)
    return start < end and ledger.first.get(partition, end) > start


def _last_known(version: ServingVersion, partition: int, at_ms: int) -> int:
    """When at the latest records were appended of which nothing is left."""
    told = version.told.get(partition)
    return at_ms if told is None or told.read_ms is None else told.read_ms
