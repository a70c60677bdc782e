"""What the registry's own books say of a candidate, or of what serves, as SQL that returns what is wrong with them."""

from __future__ import annotations

from gate.parity import BATCH, between, bounds
from kappa.core.validation import Subject, earliest, latest

FATES = ("counted", "duplicate", "repeated_click", "late", "future", "before_start", "dead_letter")
MOST_MICROS = 10**12
"""The most that an event costs (contract, section 1)."""
BEHIND_SECONDS = 60
MOST_ROWS_SUMMED = 10_000_000
"""Of what serves no more rows are added up each hour; a million takes 0.7 s on two busy cores."""


def residual(subject: Subject) -> str:
    """The batches in which records were read that have no fate, or have two."""
    fates = " + ".join(FATES)
    return (
        f"select generation, batch_id, read, {fates} as with_a_fate from registry.batch "
        f"where {_own(subject)} and read <> {fates} order by generation, batch_id"
    )


def unread(subject: Subject) -> str:
    """One row if the batches read another number of records than lie between the start and the committed offsets."""
    first = 'coalesce((v.start_offsets ->> p."partition"::text)::bigint, 0)'
    return (
        "select read, span from "
        f"(select coalesce(sum(read), 0) as read from registry.booked where {_own(subject)}) b, "
        f"(select coalesce(sum(p.next_offset - {first}), 0) as span from registry.progress p "
        "join registry.job_version v using (job, version) "
        f"where {_own(subject)}) p where read <> span"
    )


def unbooked(subject: Subject) -> str:
    """One row if the version's rows and its batches disagree on events or money, counted or seen; takes `{batch}`. A
    batch is of no window, so that these are all rows; of what serves nothing is looked at where they are too many."""
    booked = {
        "counted": "counted",
        "counted_micros": "counted_micros",
        "seen": "counted + duplicate + repeated_click",
        "seen_micros": "counted_micros + duplicate_micros + repeated_click_micros",
    }
    held = {
        "counted": "impressions::numeric + clicks",
        "counted_micros": "impression_micros::numeric + click_micros",
        "seen": "seen_impressions::numeric + seen_clicks",
        "seen_micros": "seen_impression_micros::numeric + seen_click_micros",
    }
    rows = ", ".join(f"coalesce(sum({expression}), 0) as {name}" for name, expression in held.items())
    batches = ", ".join(f"coalesce(sum({expression}), 0) as {name}" for name, expression in booked.items())
    listed = ", ".join(f"r.{name} as rows_{name}, b.{name} as batches_{name}" for name in held)
    differs = " or ".join(f"r.{name} <> b.{name}" for name in held)
    return (
        f"select {listed} from (select {rows} from {{batch}} d) r "
        f"cross join (select {batches} from registry.booked where {_own(subject)}) b where ({differs})"
        f"{_few_enough(subject) if subject.served else ''}"
    )


def over(subject: Subject) -> str:
    """One row if the candidate has ended."""
    return (
        "select state from registry.job_version "
        f"where {_own(subject)} and state in ('FAILED', 'RETIRED') "
        "union all select 'there is no such version' where not exists "
        f"(select from registry.job_version where {_own(subject)})"
    )


def behind(subject: Subject) -> str:
    """One row if the candidate is further behind the log than the live version by more than BEHIND_SECONDS."""
    return (
        "select c.complete_through as candidate_complete_through, l.complete_through as live_complete_through, "
        "c.lag_events, c.lag_seconds from registry.completeness c cross join registry.completeness l "
        f"where c.job = '{subject.job}' and c.version = {subject.candidate} "
        f"and l.job = '{subject.job}' and l.version = {subject.live} and coalesce("
        f"c.complete_through < l.complete_through - interval '{BEHIND_SECONDS} seconds', true)"
    )


def unaffordable(subject: Subject) -> str:
    """Rows whose money cannot be the cost of their events; takes `{batch}`."""
    pairs = ("impressions", "impression_micros"), ("clicks", "click_micros")
    wrong = [
        f"{seen}{micros} > {seen}{events}::numeric * {MOST_MICROS}"
        for seen in ("", "seen_")
        for events, micros in pairs
    ]
    return f"select * from {BATCH} where {_looked_at(subject)}({' or '.join(wrong)})"


def misplaced(subject: Subject) -> str:
    """Rows that do not start at a window's edge, or before the candidate's start; takes `{batch}`."""
    seconds = subject.window.total_seconds()
    wrong = [f"mod(extract(epoch from window_start), {seconds:.0f}) <> 0"]
    if subject.candidate_starts is not None:
        wrong.append(f"window_start < timestamptz '{subject.candidate_starts.isoformat()}'")
    return f"select * from {BATCH} where {_looked_at(subject)}({' or '.join(wrong)})"


def unequal(ads: Subject, clients: Subject) -> str:
    """The minutes of a client on which two candidates, or two versions that serve, disagree, of those that both hold
    and that are final in both."""
    served = ads.served and clients.served
    until = earliest(ads.until, clients.until) if served else earliest(ads.candidate_through, clients.candidate_through)
    if until is None:
        return "select 'it is unknown what is final of one of the candidates' as problem"
    first = (ads.since, clients.since) if served else (ads.candidate_starts, clients.candidate_starts)
    within = between(latest(*first), until, ads)
    sums = ", ".join(f"sum({m})::numeric as {m}" for m in ads.measures)
    listed = ", ".join(f"a.{m} as ad_ctr_{m}, s.{m} as client_spend_{m}" for m in ads.measures)
    differs = " or ".join(f"a.{m} is distinct from s.{m}::numeric" for m in ads.measures)
    return (
        "select coalesce(a.client_id, s.client_id) as client_id, "
        f"coalesce(a.window_start, s.window_start) as window_start, {listed} "
        f"from (select client_id, window_start, {sums} from {{batch}} b where {within} group by 1, 2) a "
        f"full join (select * from data.{clients.table} r where r.version = {clients.candidate} and {within}) s "
        f"on s.client_id = a.client_id and s.window_start = a.window_start where {differs} order by 2, 1"
    )


def _looked_at(subject: Subject) -> str:
    """The condition of rows that are looked at one by one; of what serves those of its span, which an index finds."""
    return f"{bounds(subject)} and " if subject.served else ""


def _few_enough(subject: Subject) -> str:
    """The condition that there are not too many rows to be added up, by what Postgres last counted; it is known before
    they are read."""
    counted = f"select reltuples from pg_class where oid = 'data.{subject.rows}'::regclass"
    return f" and ({counted}) <= {MOST_ROWS_SUMMED}"


def _own(subject: Subject) -> str:
    return f"job = '{subject.job}' and version = {subject.candidate}"
