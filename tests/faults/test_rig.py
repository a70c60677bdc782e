"""Rig R1 itself: a case runs the real thing from the log to what is served, is alone, and is seen by the oracle."""

from __future__ import annotations

import threading

import pytest

from stack.waiting import until
from tests.rigs.events import events, mixture
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig


def test_all_jobs_read_a_log_with_something_of_every_fate(rig: Rig) -> None:
    case = rig.case("ad_ctr", "client_spend", "quarantine")
    case.produce(mixture(7, 2_000))
    case.run_until_read()
    case.check()
    told = case.accounts("ad_ctr")
    assert told["read"] == 2_000
    assert all(told[fate] > 0 for fate in ("counted", "duplicate", "repeated_click", "late", "future", "dead_letter"))


def test_a_driver_goes_on_where_the_last_one_stopped(rig: Rig) -> None:
    case = rig.case(records_per_batch=100)
    for first in (0, 300):
        case.produce(events(300, first))
        case.run_until_read()
    case.check()
    assert case.accounts()["counted"] == 600


def test_a_case_sees_nothing_of_another(rig: Rig) -> None:
    busy, quiet = rig.case(), rig.case()
    busy.produce(events(10))
    busy.run_until_read()
    assert quiet.rows() == []
    assert quiet.ends() == {0: 0, 1: 0}


def test_a_driver_that_has_ended_leaves_no_client_of_the_broker(rig: Rig) -> None:
    case, before = rig.case(), clients()
    case.produce(events(20))
    case.run_until_read()
    assert until(lambda: clients() <= before, 60)


def clients() -> set[threading.Thread]:
    """kafka-python has a thread for each."""
    return {thread for thread in threading.enumerate() if "kafka" in thread.name}
