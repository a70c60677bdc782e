"""The topic's trial on a real broker: whole, and with another shape than the settings say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cli.doctor import topic_shape
from cli.doctor.trial import Tried, carry_out
from kappa.core.settings import Settings
from tests.rigs.case import Case
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig


@pytest.fixture(scope="module")
def case(cases: Rig) -> Case:
    """A topic of this module's own."""
    return cases.case(partitions=2)


def tried(settings: Settings) -> Tried:
    (one,) = (carry_out(trial) for trial in topic_shape.trials(settings))
    return one


def test_of_a_topic_as_it_has_to_be_its_shape_is_said(case: Case) -> None:
    assert tried(case.settings).found == "2 partitions, LogAppendTime, 0 records so far"


def test_another_number_of_partitions_is_named(case: Case) -> None:
    finding = tried(replace(case.settings, topic=replace(case.settings.topic, partitions=3))).finding
    assert finding is not None
    assert finding.wrong == "it has 2 partitions, and the settings say 3"


def test_records_that_are_kept_too_short_are_named(case: Case) -> None:
    longer = replace(case.settings.topic, retention_hours=case.settings.topic.retention_hours + 1)
    finding = tried(replace(case.settings, topic=longer)).finding
    assert finding is not None
    assert "a replay reaches no further back" in finding.remedy


def test_a_topic_that_is_not_there_is_named(case: Case) -> None:
    finding = tried(replace(case.settings, topic=replace(case.settings.topic, name="nowhere"))).finding
    assert finding is not None
    assert "topic 'nowhere' does not exist" in finding.wrong
