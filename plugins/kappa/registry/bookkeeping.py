"""The books that grow with time in Postgres: old batches become hours, a few at a time, and old refused records go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from kappa.registry.bookkeeping_port import BatchesTorn, OldBatches, OldRefusals
from kappa.registry.transactions import Connection, Database

MOST = 2_000
"""Rows that one transaction removes: some ten milliseconds' worth."""
QUARANTINE = "quarantine"

# An hour that has begun to be kept is kept whole: what is folded is cut at a full hour. Only what stays is looked at
# and counted, for what is old may be a year's (`offset 0`: else the old ones would be walked through, the first first).
_OLD_BATCHES = """
select job, version, generation, first, (select max(b.batch_id) from registry.batch b
    where (b.job, b.version, b.generation) = (due.job, due.version, due.generation) and b.batch_id <= due.last) as last,
    batches
from (
    select t.job, t.version, t.generation,
        (select min(b.batch_id) from registry.batch b
            where (b.job, b.version, b.generation) = (t.job, t.version, t.generation)) as first,
        case when spare.batch_id is not null then least(young.batch_id - 1, spare.batch_id) end as last,
        (t.batches - (select coalesce(sum(h.batches), 0) from registry.batch_hour h
                where (h.job, h.version, h.generation) = (t.job, t.version, t.generation))
            - case when spare.batch_id >= young.batch_id then young.batches else spared.batches end)::bigint as batches
    from registry.batch_total t join registry.job_version v using (job, version)
    cross join lateral (select case when v.state = 'RETIRED' then 0 else %(newest)s end as batches) spared
    cross join lateral (select min(batch_id) as batch_id, count(*) as batches from (
        select b.batch_id from registry.batch b
        where (b.job, b.version, b.generation) = (t.job, t.version, t.generation)
            and b.committed_at >= date_trunc('hour', statement_timestamp() - %(keep)s, 'UTC') offset 0) kept) young
    left join lateral (select b.batch_id from registry.batch b
        where (b.job, b.version, b.generation) = (t.job, t.version, t.generation)
        order by b.batch_id desc offset spared.batches limit 1) spare on true
    offset 0
) due where first <= due.last order by job, version, generation"""
# The oldest batches up to the first one of another hour. Each begins where the one before it ended, folded or not.
_RUN = """
with old as (
    select b.batch_id, date_trunc('hour', b.committed_at, 'UTC') as hour, b.topic_id, b.start_offsets, b.end_offsets
    from registry.batch b where b.job = %(job)s and b.version = %(version)s and b.generation = %(generation)s
        and b.batch_id between %(first)s and %(last)s order by b.batch_id limit %(most)s
), seen as (
    select batch_id, hour = first_value(hour) over oldest_first as alike,
        start_offsets = coalesce(lag(end_offsets) over oldest_first, (
            select h.end_offsets from registry.batch_hour h where h.job = %(job)s and h.version = %(version)s
                and h.generation = %(generation)s order by h.last_batch_id desc limit 1), start_offsets)
            and topic_id = first_value(topic_id) over oldest_first as joins
    from old window oldest_first as (order by batch_id)
), run as (
    select batch_id, joins, bool_and(alike) over (order by batch_id) as together from seen
)
select min(batch_id) as first, max(batch_id) as last, min(batch_id) filter (where not joins) as torn
from run where together"""
# One statement: what goes and what it becomes are the same rows.
_FOLD = """
with gone as (
    delete from registry.batch where job = %(job)s and version = %(version)s and generation = %(generation)s
        and batch_id between %(first)s and %(last)s returning *
), timed as (
    select g.*, coalesce(registry.worked_flat_out(read, took, v.settings), false) as flat_out
    from (select *, committed_at - lag(committed_at) over (order by batch_id) as took from gone) g
    join registry.job_version v using (job, version)
)
insert into registry.batch_hour (job, version, generation, first_batch_id, last_batch_id, batches, first_epoch,
    last_epoch, topic_id, start_offsets, end_offsets, watermark, read, counted, duplicate, repeated_click, late, future,
    before_start, dead_letter, counted_micros, duplicate_micros, repeated_click_micros, late_micros, future_micros,
    before_start_micros, rows_changed, flat_out_batches, flat_out_read, flat_out_seconds, committed_from, committed_to)
select job, version, generation, min(batch_id), max(batch_id), count(*), min(epoch), max(epoch), min(topic_id),
    (array_agg(start_offsets order by batch_id))[1], (array_agg(end_offsets order by batch_id desc))[1],
    max(watermark), sum(read), sum(counted), sum(duplicate), sum(repeated_click), sum(late), sum(future),
    sum(before_start), sum(dead_letter), sum(counted_micros), sum(duplicate_micros), sum(repeated_click_micros),
    sum(late_micros), sum(future_micros), sum(before_start_micros), sum(rows_changed),
    count(*) filter (where flat_out), coalesce(sum(read) filter (where flat_out), 0),
    coalesce(extract(epoch from sum(took) filter (where flat_out)), 0), min(committed_at), max(committed_at)
from timed group by job, version, generation
returning batches"""
_MISBOOKED = """
with booked as (
    select job, version, generation, sum(batches) as batches, sum(read) as read, sum(counted) as counted,
        sum(duplicate) as duplicate, sum(repeated_click) as repeated_click, sum(late) as late, sum(future) as future,
        sum(before_start) as before_start, sum(dead_letter) as dead_letter, sum(counted_micros) as counted_micros,
        sum(duplicate_micros) as duplicate_micros, sum(repeated_click_micros) as repeated_click_micros,
        sum(late_micros) as late_micros, sum(future_micros) as future_micros,
        sum(before_start_micros) as before_start_micros
    from registry.booked group by job, version, generation
)
select distinct job || ' v' || version as name from registry.batch_total t
full join booked b using (job, version, generation)
where (t.batches, t.read, t.counted, t.duplicate, t.repeated_click, t.late, t.future, t.before_start, t.dead_letter,
        t.counted_micros, t.duplicate_micros, t.repeated_click_micros, t.late_micros, t.future_micros,
        t.before_start_micros)
    is distinct from (b.batches, b.read, b.counted, b.duplicate, b.repeated_click, b.late, b.future, b.before_start,
        b.dead_letter, b.counted_micros, b.duplicate_micros, b.repeated_click_micros, b.late_micros, b.future_micros,
        b.before_start_micros)
order by name"""
_OLD_REFUSALS = """
select p.version, p."partition", f.before, n.records
from registry.progress p
cross join lateral (select coalesce(
    (select q."offset" from data.quarantine q where q.version = p.version and q."partition" = p."partition"
        and greatest(q.append_time, q.recorded_at) >= statement_timestamp() - %(keep)s order by q."offset" limit 1),
    (select max(q."offset") + 1 from data.quarantine q where q.version = p.version and q."partition" = p."partition")
    ) as before) f
cross join lateral (select count(*) as records from data.quarantine q
    where q.version = p.version and q."partition" = p."partition" and q."offset" < f.before) n
where p.job = %(job)s and n.records > 0 order by p.version, p."partition"
"""
_KEPT_FROM = """
update registry.progress set kept_from = %(before)s where job = %(job)s and version = %(version)s
    and "partition" = %(partition)s and kept_from is distinct from greatest(kept_from, %(before)s)"""
_FORGET = """
with gone as (
    delete from data.quarantine q where q.version = %(version)s and q."partition" = %(partition)s and q."offset" in (
        select o."offset" from data.quarantine o where o.version = %(version)s and o."partition" = %(partition)s
            and o."offset" >= %(first)s and o."offset" < %(before)s order by o."offset" limit %(most)s)
    returning q."offset"
)
select count(*) as records, max("offset") as last from gone"""


@dataclass(frozen=True)
class PostgresBookkeeping:
    """The part of the Registry that keeps the books short."""

    database: Database

    def old_batches(self, keep: timedelta, newest: int) -> list[OldBatches]:
        """The batches that need not be kept one by one, by generation."""
        with self.database.transaction() as connection:
            rows = connection.execute(_OLD_BATCHES, {"keep": keep, "newest": newest})
            return [OldBatches(**row) for row in rows]

    def fold(self, old: OldBatches) -> int:
        """Put those of each hour, at most MOST, into one row; how many they were. Raises BatchesTorn."""
        return self._until_done(old.first, lambda connection, first: _fold(connection, replace(old, first=first)))

    def misbooked(self) -> list[str]:
        """The versions of which ops.accounting is not the sum of what was booked, as one snapshot has both."""
        with self.database.transaction() as connection:
            return [row["name"] for row in connection.execute(_MISBOOKED)]

    def old_refusals(self, keep: timedelta) -> list[OldRefusals]:
        """The refused records that need not be kept, by version and partition."""
        with self.database.transaction() as connection:
            rows = connection.execute(_OLD_REFUSALS, {"keep": keep, "job": QUARANTINE})
            return [OldRefusals(**row) for row in rows]

    def forget(self, old: OldRefusals) -> int:
        """Remove them, at most MOST at a time; how many they were.

        That they are not kept any more is committed before: whoever compares takes no record to be missing, and a batch
        waits no longer than for that one row.
        """
        asked = {**vars(old), "job": QUARANTINE, "most": MOST}
        with self.database.transaction() as connection:
            connection.execute(_KEPT_FROM, asked)
        return self._until_done(0, lambda connection, first: _forget(connection, {**asked, "first": first}))

    def _until_done(self, first: int, act: Callable[[Connection, int], tuple[int, int]]) -> int:
        """Act in one transaction after another until nothing is left; how much it came to. Each is told the first id
        that may be left, and tells how much it did and its last id: Postgres would walk through what is gone already,
        each time more."""
        total = 0
        with self.database.transaction() as connection:
            connection.execute("set lock_timeout = '10s'")
            while True:
                done, last = act(connection, first)
                if not done:
                    return total
                connection.commit()
                total, first = total + done, last + 1


def _fold(connection: Connection, old: OldBatches) -> tuple[int, int]:
    """Put the oldest of them that are of one hour into one row; how many, and the last. Raises BatchesTorn."""
    asked = {**vars(old), "most": MOST}
    run = connection.execute(_RUN, asked).fetchone()
    if run is None or run["first"] is None:
        return 0, old.last
    if run["torn"] is not None:
        raise BatchesTorn(old.name, run["torn"])
    folded = connection.execute(_FOLD, {**asked, "first": run["first"], "last": run["last"]}).fetchone()
    return int(folded["batches"]) if folded else 0, run["last"]


def _forget(connection: Connection, asked: dict[str, object]) -> tuple[int, int]:
    """Remove the oldest of them, at most MOST; how many, and the last offset."""
    gone = connection.execute(_FORGET, asked).fetchone()
    return (gone["records"], gone["last"]) if gone else (0, 0)
