"""An autoscaling over a registry of a rig: off it looks at nothing; on it asks once, and the audit has the numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from kappa.cluster import Capacity, Host
from kappa.core.audit import Author
from kappa.core.installation.autoscaling import Autoscaling
from kappa.core.job_catalog import JOBS, resolve
from kappa.platform import Platform, connect
from kappa.verbs.autoscale.steps import ASKED, ask, plan_autoscale
from tests.rigs.rig import Rig
from tests.rigs.served_by_hand import FIRST, ByHand, by_hand

pytestmark = pytest.mark.rig
BY = Author("airflow", "run-1")


class Room:
    """A cluster of one host that has six cores free."""

    def capacity(self) -> Capacity:
        return Capacity((Host(8, 6, 8_192, 4_096),))


class Untouched:
    """A cluster that is not to be asked."""

    def capacity(self) -> Capacity:
        raise AssertionError("nothing is to be looked at")


@pytest.fixture(scope="module")
def hand(cases: Rig) -> Iterator[ByHand]:
    with by_hand(cases.case("ad_ctr", "quarantine").settings) as hand:
        hand.stage("ad_ctr", FIRST, resolve(JOBS["ad_ctr"], {}))
        hand.serve("ad_ctr", ("-infinity", "infinity", FIRST))
        hand.overrun("ad_ctr", FIRST)
        yield hand


def platform(hand: ByHand, policy: Autoscaling, cluster: Any) -> Platform:
    return replace(connect(replace(hand.settings, autoscaling=policy)), cluster=cluster)


def test_with_the_policy_off_nothing_is_looked_at(hand: ByHand) -> None:
    there = platform(hand, Autoscaling(), Untouched())
    plan = plan_autoscale(there)
    assert plan.enabled is False
    nobody = Author("airflow", "run-0")
    assert ask(there, plan, nobody) == []
    assert there.registry.entries(nobody.run_id) == []


def test_it_is_written_down_with_its_numbers_asked_for_and_not_again(hand: ByHand) -> None:
    there = platform(hand, Autoscaling(enabled=True, most_cores=3), Room())
    [form] = ask(there, plan_autoscale(there), BY)
    assert (form["job"], form["cores"], form["partitions"], form["executors"]) == ("ad_ctr", 3, 4, None)
    assert form["reason"].startswith("autoscaling: records have waited for 10 min")
    [entry] = there.registry.entries(BY.run_id)
    assert (entry.action, entry.job, entry.version) == (ASKED, "ad_ctr", FIRST)
    assert entry.evidence["command"] == "./kappa rescale ad_ctr --cores 3 --partitions 4"
    numbers = entry.evidence["advice"]["numbers"]
    assert (numbers["lag_events"], numbers["free_cores"], numbers["batch_ms"]) == (900_000, 6, 9_000)
    again = plan_autoscale(there)
    assert ask(there, again, BY) == []
    assert "within the cool-down of 60 min" in again.decisions[0].why
