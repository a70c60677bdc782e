"""A replay whose run is killed in any of its steps comes to the same end, and so does one that is run again."""

from __future__ import annotations

import random

import pytest

from tests.integration.beside import load
from tests.integration.replays.attempts import reprocessing
from tests.integration.replays.kills import STEPS, approve_and_kill
from tests.integration.replays.serving import live, releases, segments
from tests.rigs.running_stack import Stack
from tests.rigs.view_reader import reading

pytestmark = [pytest.mark.integration, pytest.mark.long(minutes=5)]

JOB = "client_spend"


@pytest.mark.fault("F27", "killed in each step: the run ends by itself, validated, promoted, differences 0")
@pytest.mark.parametrize("step", STEPS)
def test_killed_in_a_step_with_all_of_airflow_it_ends_as_if_it_had_not_been(grown: Stack, step: str) -> None:
    """Every task, the scheduler, the triggerer and the server are killed at once while events flow."""
    before, count = live(grown)[JOB], releases(grown)
    with reading(grown.settings) as seen, load(grown, random.randrange(10**6), rate=60):
        with reprocessing(grown, JOB, reason=f"killed in {step}") as attempt:
            approve_and_kill(attempt, step, "airflow")
        served = segments(grown)
        attempt.clear(only_failed=False)
        grown.until("the cleared run has ended", lambda: attempt.state() in ("success", "failed"))
    assert attempt.state() == "success"
    assert (segments(grown), releases(grown)) == (served, count + 1)
    assert live(grown)[JOB] == attempt.replay.versions[JOB]
    assert attempt.replay.finding("client_spend_minute", "parity")["success"]
    assert seen.wrong == []
    grown.reconcile()
    grown.kappa("retire", JOB, str(before), "--reason", "test")
