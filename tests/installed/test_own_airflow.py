"""An Airflow of somebody else, under FAB's auth manager, with the wheel and connections: it operates jobs on a lab."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from cli.entry import CHECKOUT
from stack.waiting import until
from tests.rigs.lab import services
from tests.rigs.lab.airflow import LabAirflow, start_fab
from tests.rigs.lab.losses import PATIENCE_SECONDS, Watch, traffic
from tests.rigs.lab.parts import CLIENT
from tests.rigs.lab.services import Installed
from tests.rigs.lab.told import told_by_connections

JOB = "ad_ctr"
SIZE = {
    "executors": 1, "executor_cores": 1, "executor_memory_mb": 512, "state_partitions": 2,
    "allowed_lateness_ms": 120_000, "cadence_ms": 3_000,
}  # fmt: skip
"""With so little lateness windows are final soon, and a replay has something to be compared by."""
GIVEN = [word for name, value in SIZE.items() for word in ("--set", f"{name}={value}")]
CORES = 6
"""Of each host: a driver and an executor, the same again beside them, and a program."""
DAGS = {file.stem for file in (CHECKOUT / "dags").glob("*.py")}


@pytest.fixture(scope="module")
def installed() -> Iterator[Installed]:
    with services.installation(CORES) as made:
        yield made


@pytest.fixture(scope="module")
def airflow(installed: Installed) -> LabAirflow:
    """Its processes know where the parts are from connections only."""
    return start_fab(installed.lab, CLIENT, told_by_connections(installed))


@pytest.mark.long(minutes=0.5)
def test_it_shows_the_plugin_and_each_dag_in_one_version(airflow: LabAirflow) -> None:
    assert "kappa" in airflow.airflow("plugins", "--output", "plain")
    assert until(lambda: set(dags(airflow)) >= DAGS, 120, 2.0), dags(airflow)
    assert airflow.dag_versions() == dict.fromkeys(DAGS, 1)


def dags(airflow: LabAirflow) -> list[str]:
    return [row["dag_id"] for row in airflow.rows("dags", "list")]


@pytest.mark.long(minutes=2)
def test_doctor_looks_at_each_host_of_spark(airflow: LabAirflow) -> None:
    airflow.kappa("build")
    tried = json.loads(airflow.kappa("doctor", "--hosts", "--json"))
    print("\n".join(f"{one['part']}, {one['tried']}: {one['found']}" for one in tried))
    (said,) = [one["found"] for one in tried if one["tried"] == "each host"]
    assert said == "2 of 2 looked at: clocks, secrets, environment, room, store"


@pytest.mark.long(minutes=8)
def test_a_job_is_deployed_rescaled_replayed_approved_by_another_and_rolled_back(
    installed: Installed, airflow: LabAirflow
) -> None:
    installed.ask("produce", "1", "2000")
    print(airflow.kappa("deploy", JOB, *GIVEN, "--reason", "first"))
    with traffic(installed, seed=2) as sent:
        print(airflow.kappa("rescale", JOB, "--partitions", "4", "--reason", "grows"))
        print(airflow.kappa("deploy", JOB, "--set", "cadence_ms=4000", "--reason", "slower"))
        with ThreadPoolExecutor(1) as pool:
            replay = pool.submit(airflow.kappa, "reprocess", JOB, "--approve", "ask", "--reason", "proof")
            approve(airflow)
            print(replay.result(PATIENCE_SECONDS))
        assert json.loads(installed.ask("serving")) == {JOB: 2}
        print(airflow.kappa("rollback", JOB, "--reason", "tried"))
    assert json.loads(installed.ask("serving")) == {JOB: 1}
    watch = Watch(installed, JOB)
    assert until(lambda: watch.unread() == 0, PATIENCE_SECONDS, 2.0), "the log was not read"
    assert json.loads(installed.ask("differences")) == []
    print(f"{2_000 + sent()} records")
    ran = json.loads(installed.ask("programs"))
    assert [(program, ok) for program, _, ok in ran] == [("repartition", True), ("trial", True)]
    assert all(name.startswith("driver-") for _, name, _ in ran), f"on the cluster: {ran}"


def approve(airflow: LabAirflow) -> None:
    """A viewer may not answer, the asker's answer does not count, the approver's does."""
    run = airflow.replay(PATIENCE_SECONDS)
    airflow.say_yes("operator", run, PATIENCE_SECONDS)
    assert until(lambda: "replay.approval_refused" in actions(airflow, run), PATIENCE_SECONDS, 5.0), "it counted"
    assert "403" in airflow.answer("viewer", run)
    airflow.say_yes("approver", run, PATIENCE_SECONDS)


def actions(airflow: LabAirflow, run: str) -> list[str]:
    """What the audit has of a run."""
    return [entry["action"] for entry in json.loads(airflow.kappa("audit", "--run", run, "--json"))]


@pytest.mark.long(minutes=0.1)
def test_the_audit_names_people_and_dags_have_one_version(airflow: LabAirflow) -> None:
    told = json.loads(airflow.kappa("audit", "--json", "--last", "200"))
    by = {entry["action"]: entry["actor"] for entry in told}
    print(json.dumps(by, indent=1))
    assert by["replay.answered"] == "approver"
    assert by["rescale.done"].endswith("operator")
    assert airflow.dag_versions() == dict.fromkeys(DAGS, 1)
