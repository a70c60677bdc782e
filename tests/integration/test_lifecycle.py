"""Deploy in place, rescale and repair on real parts: whatever happens to them, what is served stays exact."""

from __future__ import annotations

import json
import random
import shutil
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import psutil
import pytest
from kappa import artifacts

from stack import leftovers
from tests.running_stack import CHECKOUT, Command, Stack

pytestmark = pytest.mark.integration
JOB = "ad_ctr"
WATCHED_SECONDS = 0.5


@contextmanager
def load(stack: Stack, seed: int, rate: int = 500) -> Iterator[None]:
    """Traffic at a rate until the body ends."""
    stop = threading.Event()

    def run() -> None:
        part = 0
        while not stop.is_set():
            part += 1
            stack.produce(seed + part, rate * 10, "--rate", str(rate))

    with _beside(run):
        try:
            yield
        finally:
            stop.set()


@contextmanager
def _beside(act: Callable[[], object]) -> Iterator[None]:
    """The body with something else going on, whose failure is the test's."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            act()
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    assert not failures, failures


@contextmanager
def in_background(stack: Stack, *arguments: str, expect: int | None = 0) -> Iterator[list[Command]]:
    """A command that runs while the body does; its result is there after it."""
    results: list[Command] = []
    with _beside(lambda: results.append(stack.kappa(*arguments, expect=expect))):
        yield results


def runs_as(stack: Stack, job: str = JOB) -> dict[str, object]:
    """What the job's one version is made to run as, and whether a change or a lease is open."""
    ((artifact, partitions, generation, desired, state),) = stack.query(
        "select artifact, state_partitions, generation, desired, state from ops.versions where job = %s", job
    )
    (held,) = stack.query(
        "select (select count(*) from ops.changes where job = %s and ended_at is null) "
        "+ (select count(*) from ops.leases where job = %s)", job, job)[0]  # fmt: skip
    return {
        "artifact": artifact,
        "partitions": partitions,
        "generation": generation,
        "desired": desired,
        "state": state,
        "open": held,
    }


def processes(stack: Stack, *words: str) -> list[psutil.Process]:
    """The stack's processes whose command line holds every word."""
    found = []
    for process in leftovers.marked(stack.settings.home):
        try:
            line = " ".join(process.cmdline())
        except psutil.Error:
            continue
        if all(word in line for word in words) and "supervisord" not in line:
            found.append(process)
    return found


def kill(stack: Stack, *words: str) -> int:
    """kill -9 of those processes; how many there were."""
    victims = processes(stack, *words)
    for process in victims:
        process.send_signal(signal.SIGKILL)
    return len(victims)


def resendable(file: Path, records: int, seed: int) -> Path:
    """A file of impressions of now, to be played more than once."""
    rng, now_ms = random.Random(seed), int(datetime.now(UTC).timestamp() * 1000)
    rows = [
        {
            "event_id": str(uuid.UUID(int=rng.getrandbits(128))), "event_type": "impression", "slot_id": "s",
            "client_id": "straddle", "ad_id": f"a{rng.randrange(50)}", "user_id": f"u{rng.randrange(5000)}",
            "event_time": now_ms - rng.randrange(3_000_000), "cost_micros": rng.randrange(1000),
        }
        for _ in range(records)
    ]  # fmt: skip
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def counted(stack: Stack) -> tuple[int, int]:
    """Impressions and duplicates of the records that are played more than once."""
    query = "select sum(impressions)::int, sum(duplicates)::int from serving.ad_ctr_minute where client_id = 'straddle'"
    ((impressions, duplicates),) = stack.query(query)
    return impressions, duplicates


def test_a_rescale_under_load_keeps_every_group_of_the_state(deployed: Stack, tmp_path: Path) -> None:
    seed, records = random.randrange(10**6), 3_000
    print(f"seed {seed}")
    file = str(resendable(tmp_path / "twice.ndjson", records, seed))
    deployed.kappa("produce", "--source", file, "--full-speed")
    before = runs_as(deployed)
    with load(deployed, seed):
        for partitions in ("4", "3"):
            done = deployed.kappa("rescale", JOB, "--partitions", partitions, "--reason", "test")
            assert "proved equal" in done.err
            deployed.kappa("produce", "--source", file, "--full-speed")
    deployed.reconcile()
    assert counted(deployed) == (records, 2 * records)
    after = runs_as(deployed)
    assert after == {**before, "partitions": 3, "generation": 3}
    proofs = deployed.query("select proof from ops.generations where job = %s order by generation", JOB)
    assert len(proofs) == 2
    assert all(proof["before"] == proof["after"] for (proof,) in proofs)
    ((swept,),) = deployed.query("select count(distinct generation) from ops.batches where job = %s", JOB)
    assert swept == 3, "each generation of the checkpoint did some of the work"


def test_the_same_size_again_is_a_success_that_does_nothing(deployed: Stack) -> None:
    before = runs_as(deployed)
    again = deployed.kappa("rescale", JOB, "--partitions", "3", "--reason", "test")
    assert "nothing was changed" in again.err
    assert runs_as(deployed) == before


def test_tuning_settings_change_in_place_after_a_trial(deployed: Stack) -> None:
    ((version, epoch),) = deployed.query("select version, epoch from ops.drivers where job = %s", JOB)
    done = deployed.kappa("deploy", JOB, "--set", "cadence_ms=900", "--reason", "test")
    assert "cadence_ms 1000 -> 900" in done.err
    ((now, later, settings),) = deployed.query(
        "select version, epoch, settings from ops.drivers join ops.versions using (job, version) where job = %s", JOB
    )
    assert (now, settings["cadence_ms"]) == (version, 900)
    assert later > epoch
    assert runs_as(deployed)["generation"] == 3, "the checkpoint is the one it was"


def test_a_change_of_results_is_refused_with_the_command_that_replays(deployed: Stack) -> None:
    before, epoch = runs_as(deployed), deployed.query("select epoch from ops.drivers where job = %s", JOB)
    refused = deployed.kappa("deploy", JOB, "--set", "click_interval_ms=30000", "--reason", "test", expect=1)
    assert "click_interval_ms" in refused.err
    assert "./kappa reprocess ad_ctr --from earliest --set click_interval_ms=30000" in refused.err
    assert runs_as(deployed) == before
    assert deployed.query("select epoch from ops.drivers where job = %s", JOB) == epoch


def broken(stack: Stack, folder: Path, file: str, old: str, new: str) -> str:
    """The digest of an artifact of this checkout's code with one fault."""
    shutil.copytree(CHECKOUT / "jobs", folder / "jobs", ignore=shutil.ignore_patterns("__pycache__"))
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1))
    return artifacts.build(folder, stack.settings.artifacts, datetime.now(UTC)).digest


def test_code_that_does_not_come_up_is_tried_on_a_copy_first(deployed: Stack, tmp_path: Path) -> None:
    old = 'F.unix_millis("timestamp").alias("append_ms")'
    digest = broken(deployed, tmp_path, "jobs/sources.py", old, 'F.unix_millis("no_such_column").alias("append_ms")')
    before, epoch = runs_as(deployed), deployed.query("select epoch from ops.drivers where job = %s", JOB)
    refused = deployed.kappa("deploy", JOB, "--artifact", digest, "--reason", "test", expect=1)
    assert "trial" in refused.err
    assert runs_as(deployed) == before
    assert deployed.query("select epoch from ops.drivers where job = %s", JOB) == epoch, (
        "the live driver was not touched"
    )


def test_a_crash_looping_artifact_makes_way_for_the_old_one_by_itself(deployed: Stack, tmp_path: Path) -> None:
    digest = broken(
        deployed,
        tmp_path,
        "jobs/run.py",
        "epoch = registry.take_over",
        "os._exit(9)\n            epoch = registry.take_over",
    )
    before = runs_as(deployed)
    with load(deployed, 40, rate=200):
        undone = deployed.kappa("deploy", JOB, "--artifact", digest, "--reason", "test", expect=1)
    assert "undone" in undone.err
    assert runs_as(deployed) == before
    deployed.reconcile()


def test_a_rescale_killed_in_the_repartition_ends_in_the_old_or_the_new_layout(deployed: Stack) -> None:
    """F26, short form: the Spark application, and with it Airflow's scheduler and triggerer, at a random moment."""
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    rng, before = random.Random(seed), runs_as(deployed)
    with load(deployed, seed, rate=300), in_background(deployed, "rescale", JOB, "--partitions", "2", expect=None):
        deployed.until("the repartition runs", lambda: bool(processes(deployed, "jobs/repartition.py")))
        time.sleep(rng.random() * 15)
        print("killed", kill(deployed, "jobs/repartition.py"), kill(deployed, "scheduler"), kill(deployed, "triggerer"))
    deployed.until("no change is open", lambda: runs_as(deployed)["open"] == 0, seconds=400)
    deployed.reconcile()
    after = runs_as(deployed)
    assert (after["partitions"], after["desired"]) in ((before["partitions"], "running"), (2, "running"))
    ((pinned,),) = deployed.query(
        "select settings -> 'state_partitions' from ops.versions where job = %s", JOB)  # fmt: skip
    assert pinned == after["partitions"]


def test_two_verbs_at_once_have_one_owner_and_the_other_names_it(deployed: Stack) -> None:
    with in_background(deployed, "rescale", JOB, "--cores", "1", "--reason", "first"):
        deployed.until("the first holds the job", lambda: runs_as(deployed)["open"] != 0)
        second = deployed.kappa("stop", JOB, "--reason", "second", expect=1)
    assert "is held by a rescale" in second.err
    assert runs_as(deployed)["desired"] == "running"


def test_counting_goes_on_without_airflow_and_no_second_driver_comes_with_it(deployed: Stack) -> None:
    """F29, short form."""
    epochs = deployed.query("select job, epoch from ops.drivers order by job")
    with load(deployed, 50, rate=300):
        end = time.monotonic() + 20
        while time.monotonic() < end:
            kill(deployed, "airflow")
            time.sleep(1)
        ((before,),) = deployed.query("select count(*) from ops.batches where job = %s", JOB)
        deployed.until("batches go on", partial(_more_batches, deployed, before))
    deployed.kappa("up")
    deployed.reconcile()
    assert deployed.query("select job, epoch from ops.drivers order by job") == epochs
    assert len(deployed.drivers(JOB)) == 1


def test_repair_starts_a_driver_that_is_wanted_and_gone(deployed: Stack) -> None:
    ((submission,),) = deployed.query("select submission_id from ops.drivers where job = %s", JOB)
    import httpx

    httpx.post(f"{deployed.settings.spark_rest}/v1/submissions/kill/{submission}", json={}, trust_env=False)
    deployed.until("the driver is gone", lambda: not deployed.drivers(JOB))
    deployed.kappa("repair", JOB, "--reason", "test")
    deployed.until("a driver is back", lambda: bool(deployed.drivers(JOB)))
    deployed.reconcile()
    ((repaired,),) = deployed.query(
        "select count(*) from ops.audit where job = %s and action = 'repair.restarted'", JOB
    )
    assert repaired == 1


def _more_batches(stack: Stack, before: int) -> bool:
    ((now,),) = stack.query("select count(*) from ops.batches where job = %s", JOB)
    return int(now) > before + 3
