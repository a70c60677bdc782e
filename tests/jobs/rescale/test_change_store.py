"""What a finite Spark program reads and writes of a change, asked of `jobs.rescale.change_store` in Postgres."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from jobs.rescale.change_store import ChangeEnded, Generation, PostgresChangeStore, UnknownChange, check_open
from kappa.core.changes import Mark, RunsAs
from tests.rigs.case import Case
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig

OLD, NEW = RunsAs("a" * 16, {"state_partitions": 4}, 1), RunsAs("a" * 16, {"state_partitions": 2}, 2)
MADE = Generation(2, "g2-a1b2", 1, 2, 7, {"rows": {"before": 3, "after": 3}})
JOB = "ad_ctr"


@pytest.fixture(scope="module")
def case(cases: Rig) -> Case:
    return cases.case(JOB)


@pytest.fixture
def change(case: Case) -> Iterator[str]:
    """The id of a change that has begun."""
    change_id = str(uuid4())
    case.query(
        "insert into registry.change (change_id, job, version, verb, run_id, desired, old, new) "
        "values (%s, %s, 1, 'rescale', 'run-1', 'running', %s, %s)",
        change_id, JOB, json.dumps(vars(OLD)), json.dumps(vars(NEW)),
    )  # fmt: skip
    yield change_id
    case.query("delete from registry.generation; delete from registry.change")


@pytest.fixture
def changes(case: Case, change: str) -> Iterator[PostgresChangeStore]:
    made = PostgresChangeStore(case.settings, JOB, 1, change)
    yield made
    made.close()


def test_a_change_is_read_as_it_is_now(case: Case, changes: PostgresChangeStore, change: str) -> None:
    found = changes.read()
    assert (str(found.change_id), found.phase, found.has_ended, found.old, found.new) == (
        change,
        "begun",
        False,
        OLD,
        NEW,
    )
    case.query("update registry.change set phase = 'held'")
    assert (changes.read().phase, check_open(changes).phase) == ("held", "held")
    case.query("update registry.change set phase = 'undone', ended_at = clock_timestamp()")
    assert changes.read().has_ended
    with pytest.raises(ChangeEnded, match="undone"):
        check_open(changes)


def test_a_change_of_another_version_is_unknown(case: Case, change: str) -> None:
    for job, version, which in ((JOB, 2, change), ("quarantine", 1, change), (JOB, 1, str(uuid4()))):
        other = PostgresChangeStore(case.settings, job, version, which)
        with pytest.raises(UnknownChange, match="Nothing was touched"):
            other.read()
        other.close()


def test_the_first_time_of_a_moment_stays(case: Case, changes: PostgresChangeStore) -> None:
    changes.mark(Mark.COPIED)
    before = case.query("select marks from registry.change")
    changes.mark(Mark.COPIED)
    changes.mark(Mark.PROVED)
    marks = case.query("select marks from registry.change")[0]["marks"]
    assert marks["copied"] == before[0]["marks"]["copied"]
    times = [datetime.fromisoformat(marks[name]) for name in ("copied", "proved")]
    assert times == sorted(times)
    assert all(at.utcoffset() == UTC.utcoffset(None) for at in times)


def test_a_version_is_driven_while_a_launch_of_it_has_not_ended(case: Case, changes: PostgresChangeStore) -> None:
    case.query("update registry.launch set ended_at = null")
    assert changes.is_driven()
    case.query("update registry.launch set ended_at = clock_timestamp()")
    assert not changes.is_driven()


def test_a_generation_is_the_try_that_was_entered_last(case: Case, changes: PostgresChangeStore) -> None:
    """One is made again only where what was entered is lost. Older code names no folder."""
    assert changes.generation(2) is None
    for made in (replace(MADE, folder="g2-lost", base_batch_id=5, proof={}), MADE, MADE):
        changes.enter(made)
        assert changes.generation(2) == made
    assert changes.generation(3) is None
    case.query("update registry.generation set folder = null")
    assert changes.generation(2) == replace(MADE, folder="g2")
