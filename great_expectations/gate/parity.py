"""The comparison of candidate and live rows as SQL: a full join on the windows that are final in both.

The statements contain `{batch}`, which Great Expectations replaces by the table of the candidate's rows. Every one is a
pure function of the request.
"""

from __future__ import annotations

from datetime import datetime

from kappa.core.validation import Band, Direction, Parity, Request, Subject

BATCH = "{batch}"


def differing(request: Request, subject: Subject) -> str:
    """The keys on which candidate and live disagree: key, window_start, which side lacks the row, then each measure of
    both sides."""
    keys = (*subject.keys, "window_start")
    listed = [
        *(f"coalesce(c.{key}, l.{key}) as {key}" for key in keys),
        "case when l.version is null then 'live' when c.version is null then 'candidate' end as missing_in",
        *(f"l.{m} as live_{m}, c.{m} as candidate_{m}" for m in subject.measures),
    ]
    return (
        f"select {', '.join(listed)} from {_joined(subject)} where {_disagreement(request, subject)} "
        f"order by {', '.join(keys[::-1])}"
    )


def counted(subject: Subject) -> str:
    """What the comparison comprises, in one row: compared, live and candidate rows, first and last window, and the sum
    of each measure on both sides."""
    sums = (f"sum(l.{m})::numeric as live_{m}, sum(c.{m})::numeric as candidate_{m}" for m in subject.measures)
    joined = _joined(subject).replace(BATCH, f"data.{subject.rows}")
    window = "coalesce(c.window_start, l.window_start)"
    return (
        "select count(*) as compared, count(l.version) as live_rows, count(c.version) as candidate_rows, "
        f"min({window}) as first_window, max({window}) as last_window, {', '.join(sums)} from {joined}"
    )


def held(subject: Subject) -> str:
    """What was looked at of a version that serves, in one row: rows, first and last window."""
    return (
        "select count(*) as compared, min(window_start) as first_window, max(window_start) as last_window "
        f"from data.{subject.rows} where {bounds(subject)}"
    )


def nothing_compared(subject: Subject) -> str:
    """One row if there is nothing to compare: a comparison of nothing proves nothing."""
    return (
        "select 'no window is final in both versions and held by both' as problem "
        f"where not exists (select from {BATCH} where {bounds(subject)}) "
        f"and not exists (select from data.{subject.table} r where r.version = {subject.live} and {bounds(subject)})"
    )


def counts_differ(subject: Subject) -> str:
    """One row if candidate and live hold different numbers of rows on the compared windows."""
    count = "select count(*) as rows from"
    return (
        f"select l.rows as live_rows, c.rows as candidate_rows from ({count} {BATCH} b where {bounds(subject)}) c "
        f"cross join ({count} data.{subject.table} r where r.version = {subject.live} and {bounds(subject)}) l "
        "where l.rows <> c.rows"
    )


def bounds(subject: Subject) -> str:
    """The condition on window_start that makes a window part of the comparison."""
    if subject.until is None:
        return "false"
    return between(subject.since, subject.until, subject)


def between(since: datetime | None, until: datetime, subject: Subject) -> str:
    """The condition that a window starts at `since` or later and ends by `until`."""
    ends = f"window_start <= {instant(until - subject.window)}"
    return ends if since is None else f"window_start >= {instant(since)} and {ends}"


def instant(moment: datetime) -> str:
    """A moment as a constant."""
    return f"timestamptz '{moment.isoformat()}'"


def _joined(subject: Subject) -> str:
    """Live rows `l` and candidate rows `c` of the compared windows, side by side."""
    keys = (*subject.keys, "window_start")
    same = " and ".join(f"l.{key} = c.{key}" for key in keys)
    return (
        f"(select * from {BATCH} b where {bounds(subject)}) c full join "
        f"(select * from data.{subject.table} r where r.version = {subject.live} and {bounds(subject)}) l on {same}"
    )


def _disagreement(request: Request, subject: Subject) -> str:
    """The condition that a pair of rows is not as the parity wants it."""
    if request.parity is not Parity.DECLARED:
        differs = " or ".join(f"c.{m} <> l.{m}" for m in subject.measures)
        return f"c.version is null or l.version is null or {differs}"
    bands = {band.column: band for band in request.bands}
    return " or ".join(_outside(measure, bands.get(measure)) for measure in subject.measures)


def _outside(measure: str, band: Band | None) -> str:
    """The condition that a measure is outside its band, or differs without having one; a missing row counts as zeros.

    In numeric: a thousandfold bigint may not fit into one.
    """
    new, old = f"coalesce(c.{measure}, 0)::numeric", f"coalesce(l.{measure}, 0)::numeric"
    if band is None:
        return f"{new} <> {old}"
    wrong = {Direction.UP: [f"{new} < {old}"], Direction.DOWN: [f"{new} > {old}"], Direction.ANY: []}[band.direction]
    if band.most_permille is not None:
        wrong.append(f"abs({new} - {old}) * 1000 > {band.most_permille} * {old}")
    return f"({' or '.join(wrong)})" if wrong else "false"
