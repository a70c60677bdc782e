"""A deployment over a running job on real parts: in place where it may, refused or taken back where it must."""

from __future__ import annotations

import pytest

from tests.integration.beside import load
from tests.integration.conftest import Tuned, at_work
from tests.integration.injected import EXECUTOR, kill_of, process_of, processes_of
from tests.integration.versions import JOB, batches, epochs, runs_as
from tests.rigs.faults import PATCHES, Fault
from tests.rigs.patches import build
from tests.rigs.running_stack import JOBS, ON_EXECUTOR, Stack

pytestmark = pytest.mark.integration


@pytest.mark.long(minutes=2)
def test_a_tuning_setting_changes_in_place_after_a_trial(tuned: Tuned) -> None:
    assert "-> 4000" in tuned.said.err
    assert tuned.after == tuned.before, "the same version on the same checkpoint"
    assert tuned.epochs[1] > tuned.epochs[0]
    query = "select settings -> 'cadence_ms', settings -> 'executors' from ops.versions where job = %s"
    assert tuned.stack.query(query, ON_EXECUTOR) == [(4000, 1)]
    tuned.stack.reconcile()


@pytest.mark.fault("F25", "another executor takes its place, the driver is the same, and differences are 0")
def test_an_executor_that_is_killed_is_replaced_and_nothing_is_lost_or_counted_twice(deployed: Stack) -> None:
    stack = deployed
    assert [len(processes_of(stack, EXECUTOR, job)) for job in JOBS] == [int(job == ON_EXECUTOR) for job in JOBS]
    with load(stack, 70):
        committed = batches(stack, ON_EXECUTOR)
        stack.until("the executor works", lambda: batches(stack, ON_EXECUTOR) > committed)
        owners, victim = epochs(stack), kill_of(stack, EXECUTOR, ON_EXECUTOR)
        committed = batches(stack, ON_EXECUTOR)
        stack.until("batches go on", lambda: batches(stack, ON_EXECUTOR) > committed + 2)
    assert process_of(stack, EXECUTOR, ON_EXECUTOR) != victim
    stack.reconcile()
    assert epochs(stack) == owners


@pytest.mark.long(minutes=3)
def test_a_rescale_to_other_executors_is_exact(tuned: Tuned) -> None:
    """To two of them, and back to one."""
    for executors in (2, 1):
        tuned.stack.kappa("rescale", ON_EXECUTOR, "--executors", str(executors), "--reason", "test")
        assert at_work(tuned.stack, executors) == executors
    tuned.stack.reconcile()
    assert runs_as(tuned.stack, ON_EXECUTOR) == tuned.after


def test_a_change_of_results_is_refused_with_the_command_that_replays(deployed: Stack) -> None:
    before, owners = runs_as(deployed), epochs(deployed)
    refused = deployed.kappa("deploy", JOB, "--set", "click_interval_ms=30000", "--reason", "test", expect=1)
    assert "click_interval_ms" in refused.err
    assert "./kappa reprocess ad_ctr client_spend --from earliest --set click_interval_ms=30000" in refused.err
    assert runs_as(deployed) == before
    assert epochs(deployed) == owners


@pytest.mark.long(minutes=2)
def test_code_that_does_not_come_up_is_tried_on_a_copy_first(deployed: Stack) -> None:
    digest = build(deployed.settings, PATCHES[Fault.START])
    before, owners = runs_as(deployed), epochs(deployed)
    refused = deployed.kappa("deploy", JOB, "--artifact", digest, "--reason", "test", expect=1)
    assert "trial" in refused.err
    assert runs_as(deployed) == before
    assert epochs(deployed) == owners, "the live driver was not touched"


@pytest.mark.long(minutes=3)
def test_a_crash_looping_artifact_makes_way_for_the_old_one_by_itself(deployed: Stack) -> None:
    digest = build(deployed.settings, PATCHES[Fault.TAKE_OVER])
    before = runs_as(deployed)
    with load(deployed, 40, rate=200):
        undone = deployed.kappa("deploy", JOB, "--artifact", digest, "--reason", "test", expect=1)
    assert "undone" in undone.err
    assert runs_as(deployed) == before
    deployed.reconcile()
