"""A driver of an artifact of commit a221cc5 works with the newest schema: all that it asks and tells the registry, and
the transactions of its batches."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from jobs.driver.registry import DriverRegistry
from tests.rigs.case import Case
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig

ARTIFACT = Path(__file__).with_name("jobs-a221cc5.tar.gz")
"""The sources of that commit's artifact."""
NOON = 1_773_144_000_000
PROGRAM = """
import json, os, sys
from dataclasses import asdict
from pathlib import Path
import pyarrow as pa
from jobs.catalog import find
from jobs.fates import REFUSED, Fate
from jobs.heartbeat import Beat
from jobs.observations import Observed, Tally
from jobs.reach import Ends
from jobs.registry import DriverRegistry, connect
from jobs.schemas import MEASURES
from jobs.settings import Settings, load
from jobs.sinks import ledger, rows

home, database, noon, launches = sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4])
Settings.dsn.__defaults__ = (database,)
settings, told = load(Path(home)), {}

def of_ad_ctr():
    kinds = {"client_id": pa.string(), "ad_id": pa.string(), "window_start": pa.timestamp("us", "UTC")}
    kinds |= dict.fromkeys(MEASURES, pa.int64())
    row = {"client_id": "c1", "ad_id": "a1", "window_start": noon * 1000, **dict.fromkeys(MEASURES, 0)}
    row |= {"impressions": 1, "impression_micros": 1000, "seen_impressions": 2, "seen_impression_micros": 2000}
    columns = {name: pa.array([row[name]], kind) for name, kind in kinds.items()}
    return pa.table(columns), {}, Tally(2, 2000)

def of_quarantine():
    row = {"partition": 0, "offset": 0, "append_ms": noon, "fate": "dead_letter", "reason": "because", "key": b"k",
           "value": None, "value_bytes": None}
    kinds = [pa.int32(), pa.int64(), pa.int64(), pa.string(), pa.string(), pa.binary(), pa.binary(), pa.int64()]
    columns = {name: pa.array([row[name]], kind) for name, kind in zip(row, kinds)}
    return pa.table(columns), {Fate.DEAD_LETTER: Tally(1, 0)}, Tally(1, 1000)

for job, made in (("ad_ctr", of_ad_ctr), ("quarantine", of_quarantine)):
    registry = DriverRegistry(settings, job, 1)
    assert registry.claim(launches[job], "driver-old")
    assert registry.launch_has_ended(launches[job]) is False
    starts, version = registry.starts("driver-old", 10), registry.describe()
    epoch = registry.take_over("driver-old", os.getpid())
    owner = ledger.Owner(find(job), 1, epoch, version.generation, version.topic, version.topic_id)
    table, refused, accepted = made()
    seen = Observed(2, {**dict.fromkeys(REFUSED, Tally()), **refused}, accepted, Tally(), noon, {0: noon})
    batch = ledger.Batch(0, {0: 2, 1: 0}, noon, seen, table)
    with connect(settings, job, 1, epoch) as connection:
        rows.prepare(connection, find(job))
        written = [ledger.write(connection, owner, batch, {1: noon}, {0: 2, 1: 0}).rewrite for _ in range(2)]
    beat = Beat(epoch, os.getpid(), None, "driver-old", 1, 0, 5, noon, noon, noon, 7560000, 1, 2)
    desired = registry.beat(beat)
    registry.note_ends(Ends(registry.now_ms(), {0: 2, 1: 0}), [0, 1])
    registry.raise_red("held", "because")
    registry.clear_red("held")
    offsets, _ = registry.progress()
    told[job] = {"written": written, "desired": desired, "offsets": offsets, "newest": registry.newest_batch(1),
                 "starts": asdict(starts)}
    registry.fail("gave up")
    registry.end_launch(launches[job])
print(json.dumps(told))
"""


@pytest.fixture
def case(cases: Rig) -> Case:
    return cases.case("ad_ctr", "quarantine")


def run_old(case: Case, folder: Path) -> dict[str, Any]:
    """What the old code said of itself, over this case's database; its settings file has what it knows."""
    with tarfile.open(ARTIFACT) as archive:
        archive.extractall(folder / "artifact", filter="data")
    (folder / "state").mkdir()
    os.symlink(case.settings.secrets, folder / "state" / "secrets")
    (folder / "kappa.toml").write_text(f"[ports]\npostgres = {case.settings.ports.postgres}\n")
    launches = json.dumps({job: str(staged.launch) for job, staged in case.versions.items()})
    words = [sys.executable, "-c", PROGRAM, str(folder / "state"), case.settings.database, str(NOON), launches]
    done = subprocess.run(
        words, cwd=folder, env={**os.environ, "PYTHONPATH": str(folder / "artifact")}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_an_older_driver_writes_reads_and_beats_on_the_newest_schema(case: Case, tmp_path: Path) -> None:
    told = run_old(case, tmp_path)
    for job in ("ad_ctr", "quarantine"):
        mine = told[job]
        assert (mine["written"], mine["newest"], mine["offsets"]) == ([False, True], 0, {"0": 2, "1": 0})
        assert mine["desired"] == ["running", "LIVE"]
        assert case.progress(job) == {0: 2, 1: 0}
        assert len(case.rows(job)) == 1
        case.check_ranges(job)
        assert case.state(job) == "FAILED"
        assert case.red(job) == {"failed": "gave up"}
    accounts = case.accounts("ad_ctr")
    assert [accounts[name] for name in ("read", "counted", "duplicate", "counted_micros")] == [2, 1, 1, 1_000]
    assert case.accounts("quarantine")["dead_letter"] == 1


def test_what_an_older_driver_left_is_taken_over_by_todays(case: Case, tmp_path: Path) -> None:
    """It did not keep the last record that it read; todays driver knows that it does not know."""
    run_old(case, tmp_path)
    registry = DriverRegistry(case.settings, "ad_ctr", 1)
    assert registry.describe().state == "FAILED"
    assert registry.newest_batch(1) == 0
    assert registry.progress()[0] == {0: 2, 1: 0}
    registry.close()
    unknown = case.query("select last_offset, last_append_time from registry.progress where job = 'ad_ctr'")
    assert unknown == [{"last_offset": None, "last_append_time": None}] * 2
    shown = case.query(
        "select version, complete_through is null as unknown from serving.freshness where job = 'ad_ctr'"
    )
    assert shown == [{"version": 1, "unknown": False}]
