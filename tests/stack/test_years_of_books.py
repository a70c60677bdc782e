"""A year of bookkeeping: what `status` and `audit` ask takes no longer than on the first day, and no number changes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row

from cli.commands import audit
from kappa.console import fates, history, now
from kappa.core.audit import Author
from kappa.platform import connect
from kappa.registry import bookkeeping
from kappa.registry.bookkeeping_port import OldBatches
from kappa.registry.transactions import Connection
from kappa.status import load, red_lines
from kappa.status import replays as replay_status
from kappa.verbs.retire import old_rows
from kappa.verbs.retire.old_files_plan import KEEP
from oracle.fates import FATES
from stack.monitor import registry
from stack.status import job as job_status
from stack.status import job_detail
from tests.rigs.case import Case
from tests.rigs.rig import Rig
from tests.stack import years

pytestmark = pytest.mark.rig

BY = Author("tester", "run-1")
SECONDS = 1.0
"""The longest that a look may take."""
BLOCKS = 1_500
"""Of 8 KB, that a look may touch: less than any index of the batches that are kept one by one has."""
LARGER = {"status, advice": 20_000, "console, hours": 5_000}
"""Of a look at each batch of some hours, of which there are as many after a year as after a day."""
GROWING = {"batch", "batch_hour", "quarantine_v1"}
LOOKS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "status, versions": (job_status._VERSIONS, {}),
    "status, red lines": (red_lines._LINES, {}),
    "status, replays": (replay_status._REPLAYS, {}),
    "status, advice": (load._LOADS, load.VALUES),
    "status --job, versions": (job_detail._VERSIONS, {"job": "ad_ctr"}),
    "status --job, batches": (job_detail._BATCHES, {"job": "ad_ctr", "version": 1, "last": job_detail.BATCHES}),
    "monitor, versions": (registry._VERSIONS, {}),
    "monitor, counts": (registry._COUNTS, {}),
    "console, now": (now._VERSIONS, {}),
    "console, hours": (now._HOURS, {"hours": now.HOURS}),
    "console, reasons": (fates._REASONS, {"minutes": 15, "most": fates.REASONS}),
    "console, refused": (fates._RECORDS, {"minutes": 15, "fate": "", "reason": "", "most": fates.RECORDS}),
    "console, a refused value": (fates._VALUE, {"partition": 3, "offset": 99_999}),
    "console, audit": (history._AUDIT, {"job": "", "most": history.ENTRIES}),
    "console, releases": (history._RELEASES, {"most": history.RELEASES}),
    "ops.accounting": ("select * from ops.accounting", {}),
    "audit": (audit._ENTRIES, {"job": None, "run": None, "last": 20}),
    "audit --run": (audit._ENTRIES, {"job": None, "run": "run-52000", "last": 20}),
}
# As ops.accounting was before there were totals.
_SUMMED = """
select v.job, v.version, coalesce(sum(b.read), 0), coalesce(sum(b.counted), 0), coalesce(sum(b.counted_micros), 0)
from registry.job_version v left join registry.batch b using (job, version) group by 1, 2"""
_TORN = """
select count(*) as torn from (
    select job, start_offsets <> lag(end_offsets) over (partition by job order by first_id) as torn from (
        select job, batch_id as first_id, start_offsets, end_offsets from registry.batch where version = 1
        union all select job, first_batch_id, start_offsets, end_offsets from registry.batch_hour where version = 1
    ) booked) joined where torn"""


@dataclass(frozen=True)
class Look:
    """How a statement was answered: the plan's nodes, blocks touched."""

    nodes: list[dict[str, Any]]
    blocks: int

    def whole_tables(self) -> set[str]:
        """Tables that grow with time and were read from end to end."""
        scans = {n["Relation Name"] for n in self.nodes if n["Node Type"] == "Seq Scan"}
        return scans & GROWING


def _year(cases: Rig) -> Case:
    return cases.case(*years.JOBS, partitions=years.PARTITIONS)


def test_after_a_year_a_look_takes_no_longer(cases: Rig) -> None:
    """What the tables hold after retention was applied all year: an hour in a row, the last three days in full."""
    case, days, kept = _year(cases), 365, KEEP.batches.days
    years.hours(case, days - kept, days)
    years.batches(case, (days - kept) * years.DAILY, days * years.DAILY)
    years.year_of(case)
    years.total(case)
    case.query("analyze")
    case.query("vacuum data.quarantine")
    assert _rows(case, "registry.batch") == 3 * kept * years.DAILY
    for name, look in _looks(case).items():
        assert look.whole_tables() == set(), f"{name} reads a table that grows with time"
        assert look.blocks < LARGER.get(name, BLOCKS), f"{name} touches {look.blocks} blocks"
    told = _seconds(case)
    assert max(told.values()) < SECONDS, told
    (row,) = case.query("select read from ops.accounting where job = 'ad_ctr' and version = 1")
    assert row["read"] == days * years.DAILY * years.READ
    assert connect(case.settings).registry.misbooked() == []


def test_folding_thousands_of_batches_changes_no_number(cases: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each hour is looked for behind the one before it: Postgres does not walk through what is gone again and again."""
    case, days, daily, begun = _year(cases), 8, 2_400, []
    fold = bookkeeping._fold

    def seen(connection: Connection, old: OldBatches) -> tuple[int, int]:
        begun.append((old.name, old.first))
        return fold(connection, old)

    monkeypatch.setattr(bookkeeping, "_fold", seen)
    years.batches(case, 0, days * daily, daily)
    years.total(case)
    before, kept = _accounting(case), KEEP.batches.days * daily
    sentence = _sweep(case)
    assert sentence.startswith("folded or removed: ")
    assert len(begun) > 3 * 24 * 5
    assert len(set(begun)) == len(begun)
    assert _accounting(case) == before
    _check_books(case)
    assert 3 * kept <= _rows(case, "registry.batch") <= 3 * (kept + daily / 24)
    assert _rows(case, "registry.batch_hour") in range(3 * 24 * 5, 3 * (24 * 5 + 2))
    assert _sweep(case) == "no old rows."


@pytest.mark.long(minutes=45)
def test_forty_million_batches_are_folded_and_no_number_changes(cases: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    """A stack that ran for a year before old batches were folded: all of its batches, then one sweep."""
    case, ends = _year(cases), 40_000_000 // len(years.JOBS)
    case.query("alter table registry.batch set unlogged")
    years.batches(case, 0, ends)
    years.year_of(case)
    case.query("analyze")
    years.total(case)
    case.query("analyze registry.batch_total")
    before, held = _accounting(case), _held(case)
    began = time.monotonic()
    summed = {(row["job"], row["version"]): row for row in case.query(_SUMMED)}
    _say(capsys, f"before: {held}; all batches summed up in {time.monotonic() - began:.1f} s")
    _say(capsys, f"before: seconds of {_seconds(case)}")
    assert len(summed) == len(before)
    began = time.monotonic()
    _sweep(case)
    _say(capsys, f"folded in {time.monotonic() - began:.0f} s")
    assert _accounting(case) == before
    _check_books(case)
    case.query("vacuum (full, analyze) registry.batch")
    told = _seconds(case)
    _say(capsys, f"after: {_held(case)}; seconds of {told}")
    assert max(told.values()) < SECONDS, told
    assert _rows(case, "registry.batch") <= 3 * years.DAILY * (KEEP.batches.days + 1 / 24)


def _sweep(case: Case) -> str:
    platform = connect(case.settings)
    return old_rows.carry_out(platform, old_rows.plan_old_rows(platform), BY)


def _accounting(case: Case) -> list[DictRow]:
    return case.query("select * from ops.accounting order by job, version")


def _check_books(case: Case) -> None:
    """I1 and I5 over all that was ever booked: one fate each, offsets that join up to what was read, totals that are
    the sum."""
    assert case.query(_TORN) == [{"torn": 0}]
    for job in years.JOBS:
        told = case.accounts(job)
        assert told["read"] == sum(told[fate] for fate in FATES) == sum(case.progress(job).values())
    assert connect(case.settings).registry.misbooked() == []


def _looks(case: Case) -> dict[str, Look]:
    with _operator(case) as connection:
        return {name: _look(connection, *asked) for name, asked in LOOKS.items()}


def _look(connection: psycopg.Connection[DictRow], statement: str, values: Mapping[str, object]) -> Look:
    (row,) = connection.execute(f"explain (analyze, buffers, format json) {statement}", values or None).fetchall()
    plan = row["QUERY PLAN"][0]["Plan"]
    return Look(list(_nodes(plan)), plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def _seconds(case: Case) -> dict[str, float]:
    """Of three looks each the shortest; other work on the machine makes none shorter."""

    def shortest(look: Any) -> float:
        times = []
        for _ in range(3):
            began = time.monotonic()
            look()
            times.append(time.monotonic() - began)
        return round(min(times), 3)

    def of(statement: str, values: Mapping[str, object]) -> float:
        with _operator(case) as connection:
            return shortest(lambda: connection.execute(statement, values or None).fetchall())

    told = {name: of(*asked) for name, asked in LOOKS.items()}
    return {"status": shortest(lambda: job_status.read(case.settings)), **told}


def _operator(case: Case) -> psycopg.Connection[DictRow]:
    return psycopg.connect(case.settings.dsn("kappa_operator"), autocommit=True, row_factory=dict_row)


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for below in node.get("Plans", ()):
        yield from _nodes(below)


def _rows(case: Case, table: str) -> int:
    (row,) = case.query(f"select count(*) as rows from {table}")
    return int(row["rows"])


def _held(case: Case) -> str:
    """Rows and bytes of the books."""
    names = ("registry.batch", "registry.batch_hour", "registry.batch_total")
    sizes = [case.query("select pg_total_relation_size(%s::regclass) as bytes", name)[0]["bytes"] for name in names]
    return ", ".join(f"{n} {_rows(case, n):,} rows {size:,} bytes" for n, size in zip(names, sizes, strict=True))


def _say(capsys: pytest.CaptureFixture[str], line: str) -> None:
    with capsys.disabled():
        print(f"\n{line}", end="", flush=True)
