"""What the monitor counts in the registry: hand-overs, of which a first deployment is none."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from stack.monitor import registry
from tests.rigs.case import Case
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig
RELEASE = """
insert into registry.release (jobs, segments_before, segments_after, offsets_before, offsets_after, promoted_by,
    evidence)
values ('{ad_ctr}', %s, '[]', '{}', '{}', 'somebody', %s)"""
SERVED = [{"job": "ad_ctr", "version": 1, "from_window": "-infinity", "to_window": "infinity"}]


def released(case: Case, before: list[dict[str, Any]], evidence: dict[str, Any]) -> None:
    case.query(RELEASE, json.dumps(before), json.dumps(evidence))


def read(case: Case) -> registry.Registry:
    with psycopg.connect(case.settings.dsn("kappa_operator"), row_factory=dict_row) as connection:
        return registry.read(connection, 168)


def test_the_newest_append_time_is_held_against_the_clock_of_the_database(cases: Rig) -> None:
    case = cases.case("ad_ctr")
    case.query("update registry.progress set read_append_time = null")
    assert read(case).append_ahead_seconds is None
    for ahead in (-50, 70):
        case.query(AHEAD, ahead)
        assert read(case).append_ahead_seconds == pytest.approx(ahead, abs=5)


AHEAD = """
update registry.progress set read_append_time = clock_timestamp() + %s * interval '1 second' where "partition" = 0"""


def test_a_first_deployment_is_no_hand_over(cases: Rig) -> None:
    case = cases.case("ad_ctr")
    case.query("delete from registry.release")
    released(case, [], {"first_deployment": True})
    assert (read(case).counts["releases"], read(case).hand_over_seconds) == (0, None)
    for seconds in (0.5, 0.25):
        released(case, SERVED, {"hand_over_seconds": seconds})
    released(case, [], {"first_deployment": True})
    assert (read(case).counts["releases"], read(case).hand_over_seconds) == (2, 0.25)
