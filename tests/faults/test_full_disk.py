"""No byte is free where a part writes: that is red, nothing is counted wrongly, and it is exact once space is free."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
import pytest
from pyspark.sql import SparkSession

from kappa.core.installation.kafka_access import KafkaUser
from stack.layout import Layout
from stack.services import kafka as broker
from stack.services import postgres
from stack.supervision import Supervisor
from stack.waiting import until
from tests.rigs.case import Case
from tests.rigs.events import events, mixture
from tests.rigs.program import PATIENCE_SECONDS, Program
from tests.rigs.rig import Rig, rig_on
from tests.rigs.small_disk import Disk, small_disk
from tests.rigs.small_stack import small_stack
from traffic.log import KafkaLog

pytestmark = pytest.mark.rig
_LINES = "select what, detail from ops.red_lines"
IMPATIENT = {"delivery.timeout.ms": 5_000, "request.timeout.ms": 2_000, "linger.ms": 5}


@dataclass(frozen=True)
class Small:
    """A rig whose broker and whose Postgres write on a small disk each."""

    rig: Rig
    kafka: Disk
    postgres: Disk


@pytest.fixture(scope="module")
def small(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    """The rig R1 on small disks; the session is the one that all share."""
    mounted: list[Disk] = []

    @contextmanager
    def disks(layout: Layout) -> Iterator[None]:
        with small_disk(layout.kafka, 96) as of_kafka, small_disk(layout.postgres, 400) as of_postgres:
            mounted.extend((of_kafka, of_postgres))
            yield

    with small_stack(2, disks=disks) as layout:
        yield Small(rig_on(layout, tmp_path_factory.mktemp("small")), *mounted)


@pytest.mark.fault("F24", "the checkpoint's: a red line `query` names it; the same driver goes on, differences are 0")
def test_a_driver_whose_checkpoint_has_no_space_says_so_and_goes_on_when_there_is(rig: Rig) -> None:
    case = rig.case()
    with small_disk(case.settings.home / "checkpoints", 32) as disk, case.driver() as program:
        case.produce(events(50))
        program.await_read()
        with disk.full():
            case.strike()
            case.produce(events(50, 100))
            program.until("it is red", lambda: "No space left on device" in case.red().get("query", ""))
        case.relieve()
        program.await_read()
        program.until("it is green", lambda: case.red() == {})
    case.check()


@pytest.mark.long(minutes=2)
@pytest.mark.fault("F24", "that of Postgres: the driver or the process is red, and differences are 0 with space again")
def test_when_postgres_has_no_space_it_is_red_and_exact_afterwards(small: Small) -> None:
    case = small.rig.case()
    with _driver(case) as program:
        program.await_read()
        with small.postgres.full():
            case.produce(mixture(1, 20_000))
            print("red:", _await_red(small.rig, case))
        _bring_back(small.rig, postgres.NAME)
    case.run_until_read()
    case.check()


@pytest.mark.long(minutes=2)
@pytest.mark.fault("F24", "that of the broker: its process is red, what it acknowledged is in the log and counted")
def test_when_the_broker_has_no_space_it_is_red_and_keeps_what_it_acknowledged(small: Small) -> None:
    case = small.rig.case()
    case.produce(events(100))
    with _driver(case) as program:
        program.await_read()
        with small.kafka.full():
            acknowledged, sent = _sent_until_it_fails(case)
            print("red:", _await_red(small.rig, case), "acknowledged", acknowledged, "of", sent)
        _bring_back(small.rig, broker.NAME)
    assert 100 + acknowledged <= sum(case.ends().values()) <= 100 + sent
    case.produce(events(100, 1_000_000))
    case.run_until_read()
    case.check()


@contextmanager
def _driver(case: Case) -> Iterator[Program]:
    """The driver's program, which may end for what it meets; ended afterwards."""
    program = Program(case, case.launch(), case.settings)
    program.thread.start()
    try:
        yield program
    finally:
        case.query("update registry.job_version set desired = 'stopped'")
        program.await_end()
    print("the driver ended with", program.exit_code, repr(program.error))


def _sent_until_it_fails(case: Case) -> tuple[int, int]:
    """Records that were acknowledged, and that were sent, until a hundred of them are refused at once."""
    acknowledged = sent = 0
    for first in range(1_000, 1_000_000, 1_000):
        log = KafkaLog(case.settings.kafka_access(KafkaUser.PRODUCER).librdkafka(), case.settings.topic.name, IMPATIENT)
        for event in events(1_000, first, slot_id="s" * 200):
            log.send(event.key, event.value)
        delivery = log.close()
        acknowledged, sent = acknowledged + delivery.delivered, sent + 1_000
        if delivery.failed >= 100:
            return acknowledged, sent
    pytest.fail("the broker never ran out of space")


def _await_red(rig: Rig, case: Case) -> list[str]:
    """The first that is red; fails the test if nothing comes to be."""
    red: list[str] = []

    def is_red() -> bool:
        red[:] = _red(rig, case)
        return bool(red)

    assert until(is_red, PATIENCE_SECONDS), f"nothing is red: {case.query('select * from ops.drivers')}"
    return red


def _red(rig: Rig, case: Case) -> list[str]:
    """What `status` shows: processes that do not run, and the red lines of the case, where Postgres answers."""
    red = [f"{p.name} is {p.state}" for p in Supervisor(rig.parts).processes() if p.state != "RUNNING"]
    try:
        return red + [f"{row['what']}: {row['detail']}" for row in case.query(_LINES)]
    except psycopg.errors.DiskFull:
        raise
    except psycopg.OperationalError:
        return red


def _bring_back(rig: Rig, part: str) -> None:
    """What `up` does with a part that its supervisor has given up."""
    healthy = {broker.NAME: broker.healthy, postgres.NAME: postgres.healthy}[part]

    def is_back() -> bool:
        Supervisor(rig.parts).begin([part])
        return healthy(rig.parts.settings)

    assert until(is_back, PATIENCE_SECONDS), f"{part} is not healthy again"
