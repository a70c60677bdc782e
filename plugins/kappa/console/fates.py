"""The page *Fates*: what became of the records, by minute, and those that were refused, with their bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kappa.console import timeline
from kappa.console.database import Database, Reading
from kappa.console.numbers import SPANS, NoSuchChoice
from kappa.console.text import plain
from kappa.core.fates import Fate
from kappa.core.job_catalog import JOBS
from kappa.core.refusals import Refusal

FATES = tuple(fate.value for fate in Fate)
MEANINGS = {
    Fate.DEAD_LETTER: "cannot be read, or breaks a rule of the format",
    Fate.BEFORE_START: "happened before the version's first window",
    Fate.FUTURE: "claims a time too far ahead of its append",
    Fate.LATE: "was appended later than the allowed lateness after it happened",
    Fate.DUPLICATE: "another copy of its impression is counted",
    Fate.REPEATED_CLICK: "another click of this user on this ad is counted in its interval",
    Fate.COUNTED: "is in the numbers",
}
"""In a few words; the contract, section 2, has the rules."""
RECORDS = 50
"""Refused records that a page shows; the count is of all."""
REASONS = 100
BYTES_SHOWN = 256
"""Of a record's value; the download has all that was kept."""
POINTS = 240

_SUMS = "sum(read)::bigint as read, " + ", ".join(f"sum({fate})::bigint as {fate}" for fate in FATES)
_MINUTES = f"""
select {_SUMS},
    extract(epoch from date_bin(make_interval(mins => %(step)s), committed_at, timestamptz 'epoch'))::bigint as at
from ops.batches b join unnest(%(versions)s::integer[], %(since)s::timestamptz[], %(until)s::timestamptz[])
    as served (version, since, until) using (version)
where job = %(job)s and committed_at > statement_timestamp() - make_interval(mins => %(minutes)s)
    and committed_at >= coalesce(since, '-infinity') and committed_at < coalesce(until, 'infinity')
group by at order by at"""  # noqa: S608 - the columns are the names of fates
_RELEASES = """
select promoted_at, segments_before, segments_after from ops.releases
where %(job)s = any(jobs) and promoted_at > statement_timestamp() - make_interval(mins => %(minutes)s)"""
_SEGMENTS = "select job, version, to_window::text from ops.segments where job = %(job)s"
_UNTIL = """
select extract(epoch from date_bin(make_interval(mins => %(step)s), statement_timestamp(), timestamptz 'epoch'))::bigint
    - %(step)s * 60 as at"""
_TOTALS = f"""
select version, state, read, {", ".join(FATES)},
    read - {" - ".join(FATES)} as residual from ops.accounting a
where job = %(job)s and exists (select from ops.segments s where (s.job, s.version) = (a.job, a.version)
    and s.to_window = 'infinity')"""  # noqa: S608 - as above
_REASONS = """
select fate, reason, count(*) as records, max(append_time) as newest, count(*) over () as among from ops.quarantine
where append_time > statement_timestamp() - make_interval(mins => %(minutes)s)
group by fate, reason order by records desc, fate, reason limit %(most)s"""
_RECORDS = """
select topic, "partition", "offset", append_time, fate, reason, key, value, value_bytes from ops.quarantine
where append_time > statement_timestamp() - make_interval(mins => %(minutes)s)
    and (%(reason)s = '' or reason = %(reason)s) and (%(fate)s = '' or fate = %(fate)s)
order by append_time desc, "partition", "offset" desc limit %(most)s"""
_VALUE = """
select value from ops.quarantine where "partition" = %(partition)s and "offset" = %(offset)s"""


class NoSuchRecord(Refusal):
    """The quarantine has no record there."""

    def __init__(self, partition: int, offset: int) -> None:
        super().__init__(
            f"the quarantine has no record at partition {partition}, offset {offset}: it was not refused, or longer "
            "ago than refused records are kept."
        )


def read(database: Database, job: str, span: str) -> dict[str, Any]:
    """{"job", "span", "step", "fates", "meanings", "minutes": [{"at", "read", one for each fate}], "until", "totals"}:
    minutes by commit, of the version that served then, totals of the one that serves now. `until` is the newest step
    that is over, whether or not something was committed in it. Raises NoSuchChoice, NotReadable, TooSlow."""
    if job not in JOBS:
        raise NoSuchChoice("job", job, f"there are {', '.join(JOBS)}")
    minutes = _minutes(span)
    step = -(-minutes // POINTS)
    with database.reading() as connection:
        asked = {"job": job, "minutes": minutes, "step": step}
        rows = connection.execute(_MINUTES, {**asked, **_served(connection, asked)}).fetchall()
        totals = connection.execute(_TOTALS, {"job": job}).fetchone()
        (until,) = connection.execute(_UNTIL, {"step": step}).fetchall()
    told = {"fates": FATES, "meanings": MEANINGS, "minutes": plain(rows), "totals": plain(totals)}
    return {"job": job, "span": span, "step": step, "until": until["at"], **told}


def _served(connection: Reading, asked: Mapping[str, Any]) -> dict[str, list[Any]]:
    """{"versions", "since", "until"}, side by side, of the versions of a job that served in the minutes asked for; None
    where one did so before them, and where it still does. So what a candidate read before its promotion is left out,
    and what the version before it read until then is not."""
    releases = connection.execute(_RELEASES, asked).fetchall()
    segments = connection.execute(_SEGMENTS, asked).fetchall()
    of_job = [
        (version, since, until)
        for (job, version), spans in timeline.served(releases, segments).items()
        for since, until in spans
        if job == asked["job"]
    ]
    return {name: [span[at] for span in of_job] for at, name in enumerate(("versions", "since", "until"))}


def refused(database: Database, span: str, fate: str, reason: str) -> dict[str, Any]:
    """{"span", "reasons": {"among", "rows"}, "records": [...]} of the quarantine, the newest records of this fate and
    reason first; each has `value` and `key` as `shown` has them. Raises NoSuchChoice, NotReadable, TooSlow."""
    if fate and fate not in FATES:
        raise NoSuchChoice("fate", fate, f"there are {', '.join(FATES)}")
    if "\0" in reason:
        raise NoSuchChoice("reason", reason.replace("\0", "\\x00"), "no text in Postgres has a zero byte")
    minutes = _minutes(span)
    with database.reading() as connection:
        reasons = connection.execute(_REASONS, {"minutes": minutes, "most": REASONS}).fetchall()
        asked = {"minutes": minutes, "fate": fate, "reason": reason, "most": RECORDS}
        records = connection.execute(_RECORDS, asked).fetchall()
    among = reasons[0]["among"] if reasons else 0
    rows = [{name: row[name] for name in ("fate", "reason", "records", "newest")} for row in reasons]
    return {
        "span": span,
        "reasons": {"among": among, "rows": plain(rows)},
        "records": [_record(row) for row in records],
    }


def value(database: Database, partition: int, offset: int) -> bytes:
    """What was kept of a refused record's value. Raises NoSuchRecord, NotReadable, TooSlow."""
    with database.reading() as connection:
        row = connection.execute(_VALUE, {"partition": partition, "offset": offset}).fetchone()
    if row is None:
        raise NoSuchRecord(partition, offset)
    return bytes(row["value"] or b"")


def shown(held: bytes | None) -> dict[str, Any] | None:
    """Bytes for people: {"text", "bytes", "cut"}; what is no printable ASCII stands as \\xNN."""
    if held is None:
        return None
    part = bytes(held[:BYTES_SHOWN])
    text = "".join(chr(b) if 32 <= b < 127 and b != 92 else "\\\\" if b == 92 else f"\\x{b:02x}" for b in part)
    return {"text": text, "bytes": len(held), "cut": len(held) > BYTES_SHOWN}


def _record(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**plain(dict(row) | {"key": None, "value": None}), "key": shown(row["key"]), "value": shown(row["value"])}


def _minutes(span: str) -> int:
    if span not in SPANS:
        raise NoSuchChoice("span", span, f"there are {', '.join(SPANS)}")
    return SPANS[span]
