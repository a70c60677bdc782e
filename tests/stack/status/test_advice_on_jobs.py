"""Advice as `status` has it: from a registry of a rig, and from a cluster that may be away."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import pytest

from kappa.core.advice.size import Size
from kappa.core.job_catalog import JOBS, resolve
from kappa.core.refusals import Refusal
from stack.status import advice
from tests.rigs.rig import Rig
from tests.rigs.served_by_hand import FIRST, ByHand, by_hand

pytestmark = pytest.mark.rig


@pytest.fixture(scope="module")
def hand(cases: Rig) -> Iterator[ByHand]:
    with by_hand(cases.case("ad_ctr", "quarantine").settings) as hand:
        hand.stage("ad_ctr", FIRST, resolve(JOBS["ad_ctr"], {}))
        hand.serve("ad_ctr", ("-infinity", "infinity", FIRST))
        hand.overrun("ad_ctr", FIRST)
        yield hand


def room() -> Mapping[str, int]:
    return {"free_cores": 6, "free_memory_mb": 4_096}


def away() -> Mapping[str, int]:
    raise Refusal("Spark's master does not answer")


def slow() -> Mapping[str, int]:
    time.sleep(3)
    return room()


def test_what_waits_and_what_is_free_make_advice(hand: ByHand) -> None:
    [told] = advice.read(hand.settings, room)
    assert (told.job, told.version, told.size) == ("ad_ctr", FIRST, Size.MORE)
    assert told.command == "./kappa rescale ad_ctr --cores 4 --partitions 4"
    assert (told.numbers["free_cores"], told.numbers["lag_events"]) == (6, 900_000)


@pytest.mark.parametrize("capacity", [away, slow])
def test_a_cluster_that_does_not_answer_is_not_waited_for_and_nothing_more_is_advised(
    hand: ByHand, capacity: advice.Capacity
) -> None:
    began = time.monotonic()
    [told] = advice.read(hand.settings, capacity)
    assert time.monotonic() - began < 2
    assert told.size is Size.NONE
    assert "what the cluster has free is not known now" in told.sentence
