"""A deployment over a running job on real parts: in place where it may, refused or taken back where it must."""

from __future__ import annotations

import pytest

from bench.faults import PATCHES, Fault
from bench.patches import build
from tests.integration.beside import load
from tests.integration.versions import JOB, epochs, runs_as
from tests.running_stack import Stack

pytestmark = pytest.mark.integration


def test_tuning_settings_change_in_place_after_a_trial(deployed: Stack) -> None:
    ((version, epoch, generation),) = deployed.query(
        "select version, epoch, generation from ops.drivers where job = %s", JOB
    )
    done = deployed.kappa("deploy", JOB, "--set", "cadence_ms=900", "--reason", "test")
    assert "-> 900" in done.err
    ((now, later, settings),) = deployed.query(
        "select version, epoch, settings from ops.drivers join ops.versions using (job, version) where job = %s", JOB
    )
    assert (now, settings["cadence_ms"]) == (version, 900)
    assert later > epoch
    assert runs_as(deployed)["generation"] == generation, "the checkpoint is the one it was"


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
