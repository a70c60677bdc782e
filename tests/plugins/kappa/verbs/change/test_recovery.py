"""Forward, back or nothing: the verdict on a half-done change, over every phase."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from kappa.core.changes import Change, Mark, Phase, RunsAs
from kappa.core.versions import Desired
from kappa.verbs.change.recovery import Direction, decide

OLD = RunsAs("old-code", {"state_partitions": 2}, 1)
CHANGE = Change(UUID(int=1), "ad_ctr", 1, "rescale", "run-1", Desired.RUNNING, OLD, OLD)
SAME, NEW = replace(CHANGE, new=replace(OLD, artifact="new-code")), replace(CHANGE, new=replace(OLD, generation=2))
FORWARD, BACK, NOTHING = Direction.FORWARD, Direction.BACK, Direction.NOTHING

TABLE = [
    (Phase.BEGUN, SAME, False, BACK), (Phase.BEGUN, SAME, True, BACK),
    (Phase.BEGUN, NEW, False, BACK), (Phase.BEGUN, NEW, True, BACK),
    (Phase.HELD, SAME, False, BACK), (Phase.HELD, SAME, True, BACK),
    (Phase.HELD, NEW, False, BACK), (Phase.HELD, NEW, True, BACK),
    (Phase.SWITCHED, SAME, False, BACK), (Phase.SWITCHED, SAME, True, BACK),
    (Phase.SWITCHED, NEW, False, BACK), (Phase.SWITCHED, NEW, True, FORWARD),
    (Phase.DONE, SAME, False, NOTHING), (Phase.DONE, SAME, True, NOTHING),
    (Phase.DONE, NEW, False, NOTHING), (Phase.DONE, NEW, True, NOTHING),
    (Phase.UNDONE, SAME, False, NOTHING), (Phase.UNDONE, SAME, True, NOTHING),
    (Phase.UNDONE, NEW, False, NOTHING), (Phase.UNDONE, NEW, True, NOTHING),
]  # fmt: skip


@pytest.mark.parametrize(("phase", "change", "batches", "direction"), TABLE)
def test_a_half_done_change_goes_one_way(phase: Phase, change: Change, batches: bool, direction: Direction) -> None:
    assert decide(replace(change, phase=phase), batches).direction is direction


def test_the_table_has_every_phase() -> None:
    assert {(phase, change.repartitions, batches) for phase, change, batches, _ in TABLE} == {
        (phase, repartitions, batches) for phase in Phase for repartitions in (False, True) for batches in (False, True)
    }


@pytest.mark.parametrize("change", [SAME, NEW])
def test_a_change_whose_driver_was_ready_goes_forward(change: Change) -> None:
    ready = replace(change, phase=Phase.SWITCHED, marks={Mark.READY: "2026-01-31T12:00:00+00:00"})
    assert decide(ready, has_new_batches=False).direction is FORWARD
    assert decide(replace(ready, phase=Phase.UNDONE), has_new_batches=False).direction is NOTHING


def test_a_verdict_says_why() -> None:
    assert decide(replace(NEW, phase=Phase.SWITCHED), True).why.startswith("generation 2 has a committed batch")
    assert decide(replace(NEW, phase=Phase.SWITCHED), False).why.endswith("generation 1 holds all")
