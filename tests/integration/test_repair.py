"""Without Airflow, and after the loss of a driver, on real parts."""

from __future__ import annotations

import time

import pytest
from kappa.ports import connect

from tests.integration.beside import kill, load
from tests.integration.versions import JOB, batches, epochs
from tests.running_stack import Stack

pytestmark = pytest.mark.integration


@pytest.mark.fault("F29", "20 s: batches go on with the same drivers, and differences are 0 when Airflow is back")
def test_counting_goes_on_without_airflow_and_no_second_driver_comes_with_it(deployed: Stack) -> None:
    _without_airflow(deployed, seconds=20)


@pytest.mark.long(minutes=12)
@pytest.mark.fault("F29", "10 min: batches go on with the same drivers, and differences are 0 when Airflow is back")
def test_counting_goes_on_for_ten_minutes_without_airflow(deployed: Stack) -> None:
    _without_airflow(deployed, seconds=600)


def _without_airflow(deployed: Stack, seconds: float) -> None:
    """Airflow's processes are killed again and again, then come back; the drivers are the same ones."""
    owners = epochs(deployed)
    with load(deployed, 50, rate=300):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            kill(deployed, "airflow")
            time.sleep(1)
        before = batches(deployed)
        deployed.until("batches go on", lambda: batches(deployed) > before + 3)
    deployed.kappa("up")
    deployed.reconcile()
    assert epochs(deployed) == owners
    assert len(deployed.drivers(JOB)) == 1


def test_repair_starts_a_driver_that_is_wanted_and_gone(deployed: Stack) -> None:
    ((submission,),) = deployed.query("select submission_id from ops.drivers where job = %s", JOB)
    before = _repaired(deployed)
    connect(deployed.settings).cluster.kill(submission)
    deployed.until("the driver is gone", lambda: not deployed.drivers(JOB))
    deployed.kappa("repair", JOB, "--reason", "test")
    deployed.until("a driver is back", lambda: bool(deployed.drivers(JOB)))
    deployed.reconcile()
    assert _repaired(deployed) == before + 1


def _repaired(deployed: Stack) -> int:
    """How often the job was repaired; Airflow does so by itself, too, as after a `down` and `up`."""
    ((count,),) = deployed.query("select count(*) from ops.audit where job = %s and action = 'repair.restarted'", JOB)
    return int(count)
