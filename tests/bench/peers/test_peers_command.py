"""The command: which engines it knows, and what one that fails costs."""

from __future__ import annotations

import pytest

from bench.groups import group
from bench.peers.__main__ import OursTwice, UnknownEngine, _chosen, _measured, _tried
from bench.peers.engines import Engine
from bench.peers.figures import CatchUp, Live
from bench.peers.kafka_streams import ENGINE
from bench.peers.measure import Lived, NotShown, Worked
from bench.peers.own import Own
from cli.entry import settings

WORKED = Worked(CatchUp(10, None, [(1.0, 9)], 1.0), 500, 0, {"kafka": 1.0})
LIVED = Lived(Live([1.0], 0, 0.1, None), 700, 2)


def failing() -> Worked:
    """An engine that shows nothing."""
    raise NotShown("Kafka Streams", "anything", 5)


def test_an_unknown_engine_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(UnknownEngine, match="--engines storm: there are python, streams, flink_1s, flink_10s, ours"):
        _chosen(settings(), "python,storm")


def test_ours_alone_and_beside_the_other_job_are_not_of_one_run() -> None:
    with pytest.raises(OursTwice, match="--engines may have ours or ours_both, not both"):
        _chosen(settings(), "flink_1s,ours,ours_both")


def test_both_of_our_jobs_run_and_are_counted_where_both_are_asked_for() -> None:
    (both,) = _chosen(settings(), "ours_both")
    assert isinstance(both, Own)
    assert both.jobs == ("ad_ctr", "client_spend")
    assert both.also == {"ours, client_spend of both": "serving.client_spend_day"}
    assert group(["java", "org.apache.spark.deploy.SparkSubmit", "--job", "client_spend"], str).startswith(both.groups)


def test_engines_come_in_the_order_that_was_asked_for() -> None:
    assert [engine.name for engine in _chosen(settings(), "flink_10s, python")] == ["Flink 10 s", "Python thread"]


def test_an_engine_that_fails_is_told_and_costs_its_own_figures_only(capsys: pytest.CaptureFixture[str]) -> None:
    engine: Engine = ENGINE
    assert _tried(engine, failing) is None
    assert "Kafka Streams: 'Kafka Streams' did not show anything within 5 s" in capsys.readouterr().err
    assert _tried(engine, lambda: WORKED) is WORKED


def test_wrong_rows_of_both_measurements_add_up_and_are_unknown_where_one_failed() -> None:
    assert _measured(ENGINE, WORKED, LIVED).differences == 2
    assert _measured(ENGINE, WORKED, LIVED).peak_bytes == 700
    assert _measured(ENGINE, WORKED, None).differences is None
    assert _measured(ENGINE, None, LIVED).catch_up is None
