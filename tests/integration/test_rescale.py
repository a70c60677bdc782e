"""A rescale on real parts: the layout ends as the old or the new one, and what is served stays exact."""

from __future__ import annotations

import json
import random
import time
import uuid
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import psutil
import pytest

from tests.integration.beside import in_background, load
from tests.integration.injected import kill, processes
from tests.integration.versions import JOB, batches, is_marked, runs_as
from tests.rigs.running_stack import Stack

pytestmark = pytest.mark.integration
REPARTITION = "jobs/repartition.py"
AHEAD_MS = 240_000
"""Less than the future that is allowed."""


@pytest.fixture(scope="module")
def deployed(deployed: Stack) -> Stack:
    """The stack with state in its jobs: before the first batch there is none that could be repartitioned."""
    deployed.produce(59, 500)
    deployed.until("the job has committed a batch", lambda: batches(deployed) > 0)
    return deployed


def resendable(file: Path, records: int, seed: int) -> Path:
    """A file of impressions of the next minutes, to be played more than once: all in time also after a rescale."""
    rng, now_ms = random.Random(seed), int(datetime.now(UTC).timestamp() * 1000)
    rows = [
        {
            "event_id": str(uuid.UUID(int=rng.getrandbits(128))), "event_type": "impression", "slot_id": "s",
            "client_id": "straddle", "ad_id": f"a{rng.randrange(50)}", "user_id": f"u{rng.randrange(5000)}",
            "event_time": now_ms + rng.randrange(60_000, AHEAD_MS), "cost_micros": rng.randrange(1000),
        }
        for _ in range(records)
    ]  # fmt: skip
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def counted(stack: Stack) -> tuple[int, int]:
    """Impressions and duplicates of the records that are played more than once."""
    query = (
        "select coalesce(sum(impressions), 0)::int, coalesce(sum(duplicates), 0)::int from serving.ad_ctr_minute "
        "where client_id = 'straddle'"
    )
    ((impressions, duplicates),) = stack.query(query)
    return impressions, duplicates


def stood_by(stack: Stack) -> bool:
    """Whether the driver that runs was started while its predecessor still ran."""
    ((pid,),) = stack.query("select driver_pid from ops.drivers where job = %s", JOB)
    return "--standby" in psutil.Process(pid).cmdline()


@pytest.mark.timeout(600, func_only=True)
@pytest.mark.fault("F4", "the second verb ends with exit code 1 and names who holds the job")
def test_a_rescale_under_load_keeps_every_group_of_the_state_and_has_one_owner(deployed: Stack, tmp_path: Path) -> None:
    """A second verb that comes while it is under way is refused."""
    wanted = 4 if runs_as(deployed)["partitions"] != 4 else 3
    seed, records = random.randrange(10**6), 3_000
    print(f"seed {seed}")
    file = str(resendable(tmp_path / "twice.ndjson", records, seed))
    deployed.kappa("produce", "--source", file, "--full-speed")
    before = runs_as(deployed)
    with load(deployed, seed):
        with in_background(deployed, *_rescale(wanted)) as rescale:
            deployed.until("the first holds the job", lambda: runs_as(deployed)["open"] != 0)
            second = deployed.kappa("stop", JOB, "--reason", "second", expect=1)
        assert "is held by a rescale" in second.err
        assert "proved equal" in rescale[0].err
        assert stood_by(deployed)
        deployed.kappa("produce", "--source", file, "--full-speed")
    deployed.reconcile()
    _is_moved(deployed, before, [wanted])
    assert counted(deployed) == (records, records)


@pytest.mark.long(minutes=3)
def test_a_rescale_back_under_load_keeps_every_group_of_the_state(deployed: Stack, tmp_path: Path) -> None:
    """To more partitions and back to fewer, and what was counted at first is known as a duplicate at the end."""
    sizes = (4, 3) if runs_as(deployed)["partitions"] != 4 else (3, 2)
    seed, before = random.randrange(10**6), runs_as(deployed)
    print(f"seed {seed}")
    file, known = str(resendable(tmp_path / "back.ndjson", 3_000, seed)), counted(deployed)
    deployed.kappa("produce", "--source", file, "--full-speed")
    with load(deployed, seed):
        for size in sizes:
            assert "proved equal" in deployed.kappa(*_rescale(size)).err
    deployed.kappa("produce", "--source", file, "--full-speed")
    deployed.reconcile()
    _is_moved(deployed, before, list(sizes))
    assert counted(deployed) == (known[0] + 3_000, known[1] + 3_000)


def _rescale(partitions: int) -> tuple[str, ...]:
    return ("rescale", JOB, "--partitions", str(partitions), "--reason", "test")


def _is_moved(stack: Stack, before: dict[str, object], sizes: list[int]) -> None:
    """The job runs with the last of the sizes, each reached by a generation of its own that was proved equal to the one
    before and did some of the work."""
    after, first = runs_as(stack), int(str(before["generation"]))
    last = first + len(sizes)
    assert after == {**before, "partitions": sizes[-1], "generation": last}
    made = "select proof from ops.generations where job = %s and generation > %s"
    proofs = stack.query(made, JOB, first)
    assert len(proofs) == len(sizes)
    assert all(proof["equal"] and _hashes(proof, "before") == _hashes(proof, "after") for (proof,) in proofs)
    worked = "select count(distinct generation) from ops.batches where job = %s and generation >= %s"
    assert stack.query(worked, JOB, first) == [(len(sizes) + 1,)]


def _hashes(proof: dict[str, list[dict[str, object]]], side: str) -> list[tuple[object, ...]]:
    """Rows and hash of each stateful operator; a side without rows proves nothing."""
    assert all(operator["rows"] for operator in proof[side])
    return [(operator["name"], operator["rows"], operator["total"], operator["xor"]) for operator in proof[side]]


def test_the_same_size_again_is_a_success_that_does_nothing(deployed: Stack) -> None:
    before = runs_as(deployed)
    again = deployed.kappa(*_rescale(int(str(before["partitions"]))))
    assert "nothing was changed" in again.err
    assert runs_as(deployed) == before


@pytest.mark.long(minutes=4)
@pytest.mark.fault("F26", "the old size or the new one runs, no change stays open, and differences are 0")
def test_a_rescale_killed_in_the_repartition_ends_in_the_old_or_the_new_layout(deployed: Stack) -> None:
    """The Spark application, and with it Airflow's scheduler and triggerer, at a random moment."""
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    rng, before = random.Random(seed), runs_as(deployed)
    wanted = 2 if before["partitions"] != 2 else 3
    with load(deployed, seed, rate=300), in_background(deployed, *_rescale(wanted), expect=None):
        deployed.until("the repartition runs", lambda: bool(processes(deployed, REPARTITION)))
        time.sleep(rng.random() * 5)
        killed = [kill(deployed, word) for word in (REPARTITION, "scheduler", "triggerer")]
        assert all(killed), f"killed {killed}: the repartition was over before"
    deployed.until("no change is open", lambda: runs_as(deployed)["open"] == 0, seconds=400)
    deployed.reconcile()
    after = runs_as(deployed)
    assert (after["partitions"], after["desired"]) in ((before["partitions"], "running"), (wanted, "running"))
    ((pinned,),) = deployed.query(
        "select settings -> 'state_partitions' from ops.versions where job = %s", JOB)  # fmt: skip
    assert pinned == after["partitions"]


@pytest.mark.long(minutes=3)
def test_an_orphaned_repartition_blocks_its_successor_until_it_ends(deployed: Stack) -> None:
    """The Airflow task dies, its Spark application lives on: the next try waits for it, and nothing is mixed."""
    before = runs_as(deployed)
    wanted = 3 if before["partitions"] != 3 else 2
    with in_background(deployed, *_rescale(wanted), expect=None):
        deployed.until("the repartition runs", lambda: any(map(_is_python, processes(deployed, REPARTITION))))
        application = set(processes(deployed, REPARTITION))
        for task in {parent for process in application for parent in process.parents()} - application:
            if "airflow" in " ".join(task.cmdline()) and "scheduler" not in " ".join(task.cmdline()):
                with suppress(psutil.NoSuchProcess):
                    task.kill()
        assert set(processes(deployed, REPARTITION)) & application, "the application outlives its task"
    deployed.until("no change is open", lambda: runs_as(deployed)["open"] == 0, seconds=400)
    deployed.reconcile()
    assert runs_as(deployed)["partitions"] in (before["partitions"], wanted)


def _is_python(process: psutil.Process) -> bool:
    """Whether it is the program itself, and not what starts it."""
    with suppress(psutil.Error):
        return "python" in Path(process.cmdline()[0]).name
    return False


@pytest.mark.long(minutes=3)
@pytest.mark.fault("F26", "killed after each phase: the old size or the new one runs, and differences are 0")
@pytest.mark.parametrize(
    "mark", ["standby", "warm", "held", "stopped", "copied", "repartitioned", "proved", "switched", "launched"]
)
def test_killed_in_each_phase_the_layout_is_the_old_or_the_new_one(deployed: Stack, mark: str) -> None:
    """Once a phase is reached, all that works on the rescale is killed: Spark's side and Airflow's."""
    before = runs_as(deployed)
    size = 2 + (int(str(before["partitions"])) - 1) % 3
    with load(deployed, 60, rate=300), in_background(deployed, *_rescale(size), expect=None):
        deployed.until(f"{mark} is reached", partial(is_marked, deployed, mark))
        print(
            f"killed after {mark}:",
            kill(deployed, REPARTITION),
            kill(deployed, "--standby"),
            kill(deployed, "airflow"),
        )
    deployed.until("no change is open", lambda: runs_as(deployed)["open"] == 0, seconds=1500)
    deployed.reconcile()
    after = runs_as(deployed)
    print(
        f"{mark}: {before['partitions']} -> {size} asked, now {after['partitions']}, generation {after['generation']}"
    )
    assert after["partitions"] in (before["partitions"], size)
    assert (after["generation"] == before["generation"]) == (after["partitions"] == before["partitions"])
