"""Times that are far off, clocks that are wrong, partitions that are idle, and a log in which nothing happens."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs import sources
from jobs.pipelines import windowed
from jobs.pipelines.pipeline import Run
from kappa.core import job_catalog
from kappa.core.installation.addresses import Kafka
from kappa.core.installation.kafka_access import KafkaAccess, KafkaUser
from tests.rigs.case import Case
from tests.rigs.events import event, events, mixture
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig
MINUTE, YEAR = 60_000, 365 * 86_400_000
LAST_OF_9999 = 253_402_300_799_999


def watermark_ms(case: Case) -> int:
    """The newest watermark that a batch of the case ran with."""
    newest: float = max(batch["watermark"].timestamp() for batch in case.batches())
    return round(newest * 1000)


@pytest.mark.fault("F19", "far records refused, good ones counted, the watermark behind; as first after a restart, too")
def test_a_far_event_time_moves_no_watermark_and_loses_no_good_record(rig: Rig) -> None:
    case = rig.case(partitions=1, allowed_lateness_ms=60_000)
    case.produce(events(20))
    case.run_until_read()
    now = round(time.time() * 1000)
    far = [("future", now + YEAR), ("future", now + 6 * MINUTE), ("future", LAST_OF_9999), ("late", 0)]
    for number, (fate, at) in enumerate(far, 1):
        with case.driver() as program:
            case.produce([event(1_000 * number, event_time=at)])
            program.await_read()
            case.produce([event(1_000 * number + 1, ago_ms=-4 * MINUTE), *events(20, 1_000 * number + 100)])
            program.await_read()
            case.produce(events(20, 1_000 * number + 200, ago_ms=50_000))
            program.await_read()
        assert case.batches()[-3][fate] == 1, "the far record was the first one after the restart"
        assert watermark_ms(case) <= time.time() * 1000 + 5 * MINUTE
    case.check()
    told = case.accounts()
    assert (told["counted"], told["future"], told["late"]) == (20 + 4 * 41, 3, 1)


@pytest.mark.fault("F20", "a producer's clock 10 min ahead: `future`, in the quarantine; 10 min behind: counted")
def test_a_producer_s_wrong_clock_decides_by_append_time(rig: Rig, seed: int) -> None:
    case = rig.case("ad_ctr", "quarantine")
    case.produce([*events(10, ago_ms=-10 * MINUTE), *events(10, 100, ago_ms=10 * MINUTE), *mixture(seed, 200)])
    case.run_until_read()
    case.check()
    kept = case.query("select count(*) as n from ops.quarantine where fate = 'future'")[0]["n"]
    assert case.accounts("ad_ctr")["future"] == case.accounts("quarantine")["future"] == kept >= 10
    assert case.accounts("ad_ctr")["counted"] > 10


def test_no_query_asks_for_the_time(spark: SparkSession) -> None:
    """The clock of the driver's JVM: nothing in a plan would be another one by another clock."""
    for job in (job_catalog.find("ad_ctr"), job_catalog.find("client_spend")):
        settings = job_catalog.resolve(job, {})
        nobody = KafkaAccess(Kafka("127.0.0.1:9", "PLAINTEXT"), KafkaUser.STREAM, Path("none"))
        records = sources.stream(spark, nobody, "t", {0: 0}, settings)
        frame = windowed.build(records, job, Run(settings, 0, (0,), 1_000))
        plan = frame._jdf.queryExecution().analyzed().toString().lower()
        asks = [word for word in ("current_timestamp", "current_date", "now(", "localtimestamp", "unix_timestamp(")
                if word in plan]  # fmt: skip
        assert asks == []
        assert "event_ms" in plan


def complete_through(case: Case) -> datetime | None:
    found = case.query("select complete_through from serving.freshness where job = 'ad_ctr'")
    through: datetime | None = found[0]["complete_through"] if found else None
    return through


@pytest.mark.fault("F21", "1 of 6 partitions active: its numbers are served; in silence complete_through goes on")
def test_idle_partitions_and_silence_hold_nothing_back(rig: Rig) -> None:
    case = rig.case(partitions=6)
    with case.driver() as program:
        for first in (0, 100):
            case.produce(events(20, first, partition=3))
            program.await_read()
        served = case.query("select sum(impressions) as n from serving.ad_ctr_minute")
        assert served[0]["n"] == 40
        program.until("complete_through is known", lambda: complete_through(case) is not None)
        batches, through = len(case.batches()), complete_through(case)
        assert through is not None
        for _ in range(3):
            seen = complete_through(case)
            assert seen is not None
            program.until("it goes on in silence", lambda seen=seen: complete_through(case) > seen)  # type: ignore[misc]
        assert len(case.batches()) == batches
    case.check()


@pytest.mark.long(minutes=2)
@pytest.mark.fault("F21", "a minute of an idle log becomes final in silence")
def test_a_minute_closes_in_silence(rig: Rig) -> None:
    """Its end has passed; nothing is appended any more, to any of six partitions, until it is final."""
    at = round(time.time() * 1000) // MINUTE * MINUTE - 1
    case = rig.case(partitions=6, allowed_lateness_ms=2 * MINUTE)
    case.produce([event(1, partition=3, event_time=at)])
    with case.driver() as program:
        program.await_read()
        rows = "select impressions, is_final from serving.ad_ctr_minute"
        assert [row["is_final"] for row in case.query(rows)] == [False]
        program.until("the minute is final", lambda: case.query(rows)[0]["is_final"], 400)
    case.check()
    assert len(case.batches()) == 1
