"""Without Airflow, and after the loss of a driver, on real parts."""

from __future__ import annotations

import time
from uuid import uuid4

import pytest

from kappa.platform import connect
from tests.integration.beside import load
from tests.integration.injected import kill
from tests.integration.versions import JOB, batches, epochs
from tests.rigs.running_stack import JOBS, Stack

pytestmark = pytest.mark.integration


@pytest.mark.timeout(600, func_only=True)
@pytest.mark.long(minutes=2)
@pytest.mark.fault("F29", "20 s: batches go on with the same drivers, and differences are 0 when Airflow is back")
def test_counting_goes_on_without_airflow_and_repair_brings_back_what_is_gone_once_it_is_back(deployed: Stack) -> None:
    """No second driver comes with Airflow; afterwards a driver that is wanted and gone is started by `repair`."""
    owners = _without_airflow(deployed, seconds=20)
    _is_repaired(deployed)
    deployed.reconcile()
    assert {job for job, epoch in epochs(deployed) if (job, epoch) not in owners} == {JOB}
    assert len(deployed.drivers(JOB)) == 1


@pytest.mark.long(minutes=12)
@pytest.mark.fault("F29", "10 min: batches go on with the same drivers, and differences are 0 when Airflow is back")
def test_counting_goes_on_for_ten_minutes_without_airflow(deployed: Stack) -> None:
    _without_airflow(deployed, seconds=600)
    deployed.reconcile()


def _without_airflow(deployed: Stack, seconds: float) -> list[tuple[str, int]]:
    """Airflow's processes are killed again and again, then come back; the drivers are the same ones: their epochs."""
    owners, killed = epochs(deployed), 0
    with load(deployed, 50, rate=100):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            killed += kill(deployed, "airflow")
            time.sleep(1)
        before = batches(deployed)
        deployed.until("batches go on", lambda: batches(deployed) > before + 3)
    print(f"killed {killed} processes of Airflow")
    assert killed > 4, "each of its four processes, and what came after them"
    deployed.kappa("up")
    assert epochs(deployed) == owners
    assert [len(deployed.drivers(job)) for job in JOBS] == [1] * len(JOBS)
    return owners


def _is_repaired(deployed: Stack) -> None:
    """A driver is ended behind everybody's back, and `repair` starts another one."""
    ((submission,),) = deployed.query("select submission_id from ops.drivers where job = %s", JOB)
    before, epoch = _repaired(deployed), dict(epochs(deployed))[JOB]
    connect(deployed.settings).cluster.kill(uuid4(), [submission])
    deployed.until("the driver is gone", lambda: not deployed.drivers(JOB))
    deployed.kappa("repair", JOB, "--reason", "test")
    deployed.until("a driver has taken over", lambda: dict(epochs(deployed))[JOB] > epoch)
    assert _repaired(deployed) == before + 1


def _repaired(deployed: Stack) -> int:
    """How often the job was repaired; Airflow does so by itself, too, as after a `down` and `up`."""
    ((count,),) = deployed.query("select count(*) from ops.audit where job = %s and action = 'repair.restarted'", JOB)
    return int(count)
