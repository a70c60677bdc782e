"""The comparison of the refused records of two versions, as SQL: on the offsets that both have read.

Old ones may be kept of one version and no longer of the other, so only the offsets are compared of which both keep all.
A record before a version's start has that fate before it can be late or future (contract, section 2), so the version
that starts later may lack such records of the other; a dead letter is one for both.
"""

from __future__ import annotations

from datetime import datetime

from kappa.core.validation import Subject


def differing(subject: Subject) -> str:
    """The records whose fates differ: partition, offset, append_time, both fates (null: accepted); takes `{batch}`."""
    live = f"(select * from data.quarantine where version = {subject.live}) b"
    return (
        f'with span as ({_span(subject)}) select coalesce(c."partition", l."partition") as "partition", '
        'coalesce(c."offset", l."offset") as "offset", coalesce(c.append_time, l.append_time) as append_time, '
        "l.fate as live_fate, c.fate as candidate_fate "
        f"from {_within('{batch} b')} c full join {_within(live)} l "
        'on l."partition" = c."partition" and l."offset" = c."offset" '
        f"where c.fate is distinct from l.fate {_excused(subject)} order by 1, 2"
    )


def counted(subject: Subject) -> str:
    """In one row, how many records both versions have read: of each of them it is known whether it was refused."""
    return f"select coalesce(sum(next_offset - first_offset), 0)::bigint as compared from ({_span(subject)}) span"


def nothing_compared(subject: Subject) -> str:
    """One row if no record was read by both versions."""
    return f"select 'no record was read by both versions' as problem from ({counted(subject)}) c where compared = 0"


def _span(subject: Subject) -> str:
    """The offsets that both have read and keep: partition, first_offset, next_offset."""
    first = 'max(greatest(coalesce((v.start_offsets ->> p."partition"::text)::bigint, 0), p.kept_from))'
    return (
        f'select p."partition", {first} as first_offset, '
        "min(p.next_offset) as next_offset from registry.progress p join registry.job_version v using (job, version) "
        f"where p.job = '{subject.job}' and p.version in ({subject.live}, {subject.candidate}) "
        f'group by p."partition" having count(*) = 2 and min(p.next_offset) > {first}'
    )


def _within(rows: str) -> str:
    return (
        f'(select b.* from {rows} join span using ("partition") '
        'where b."offset" >= span.first_offset and b."offset" < span.next_offset)'
    )


def _excused(subject: Subject) -> str:
    """What a version that starts later may lack."""
    lacking = [
        f"{side}.fate is null and {other}.fate in ('late', 'future')"
        for side, other, starts, others in (
            ("c", "l", subject.candidate_starts, subject.live_starts),
            ("l", "c", subject.live_starts, subject.candidate_starts),
        )
        if _later(starts, others)
    ]
    return "".join(f"and not ({condition}) " for condition in lacking)


def _later(starts: datetime | None, other: datetime | None) -> bool:
    return starts is not None and (other is None or starts > other)
