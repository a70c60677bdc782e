"""Passwords are replaced under a running driver, and every connection is cut: it goes on with the new ones."""

from __future__ import annotations

import signal

import psutil
import pytest

from kappa.core.installation.kafka_access import KafkaUser
from stack import leftovers, rotation
from stack.layout import Layout
from stack.services import kafka
from stack.waiting import until
from tests.rigs.events import mixture
from tests.rigs.rig import Rig

pytestmark = [pytest.mark.rig, pytest.mark.long(minutes=1)]


def cut_all(parts: Layout) -> None:
    """Kill the rig's broker and wait for the next one: whoever reads the log has to sign in again."""
    (broker,) = [p for p in leftovers.marked(parts.settings.home) if "kafka.Kafka" in p.cmdline()]
    broker.send_signal(signal.SIGKILL)
    psutil.wait_procs([broker], 30)
    assert until(lambda: kafka.healthy(parts.settings), 120), "the broker did not come back"


def test_a_driver_goes_on_with_new_passwords_of_kafka_and_postgres(rig: Rig, parts: Layout, seed: int) -> None:
    case = rig.case("ad_ctr", records_per_batch=200)
    records = mixture(seed, 900)
    with case.driver("ad_ctr") as program:
        case.produce(records[:300])
        program.await_read()
        for name in (KafkaUser.STREAM, KafkaUser.CONTROL, "kappa_writer", "kappa_registry"):
            rotation.rotate(parts, name)
        case.produce(records[300:600])
        program.await_read()
        cut_all(parts)
        case.query("select pg_terminate_backend(pid) from pg_stat_activity where usename like 'kappa%%'")
        case.produce(records[600:])
        program.await_read()
        assert case.state("ad_ctr") == "LIVE"
    case.check()
