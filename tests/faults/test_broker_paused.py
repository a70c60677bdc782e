"""The broker is stopped for a while, in the middle of reading and of writing: afterwards all is exact."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psutil
import pytest

from kappa.core.log import kafka_log
from stack import leftovers
from stack.layout import Layout
from stack.waiting import until
from tests.rigs.events import mixture
from tests.rigs.program import PATIENCE_SECONDS
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig


@contextmanager
def paused(parts: Layout) -> Iterator[None]:
    """The rig's broker does nothing while the body runs; it is everybody's, so it goes on in any case."""
    (broker,) = [p for p in leftovers.marked(parts.settings.home) if "kafka.Kafka" in p.cmdline()]
    broker.send_signal(signal.SIGSTOP)
    try:
        assert until(lambda: broker.status() == psutil.STATUS_STOPPED, 60), f"the broker goes on: {broker}"
        yield
    finally:
        broker.send_signal(signal.SIGCONT)


@pytest.mark.fault("F14", "the driver's log says that the broker does not answer; nothing is given up")
def test_a_broker_that_is_paused_is_waited_for(
    rig: Rig, parts: Layout, seed: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It answers nothing until a question of the driver has timed out."""
    monkeypatch.setattr(kafka_log, "REQUEST_TIMEOUT_MS", 2_000)
    case = rig.case("ad_ctr", "quarantine", records_per_batch=200)
    records = mixture(seed, 2_000)
    with case.driver("ad_ctr") as program:
        case.produce(records[:600])
        program.await_read()
        before = case.progress("ad_ctr")
        case.produce(records[600:1_200])
        with ThreadPoolExecutor(1) as pool:
            with paused(parts):
                rest = pool.submit(case.produce, records[1_200:])
                program.until("a question has timed out", lambda: "the broker does not answer" in caplog.text)
            case.relieve()
            rest.result(PATIENCE_SECONDS)
        program.await_read()
        assert case.progress("ad_ctr") != before
        assert case.state("ad_ctr") == "LIVE"
    case.run_until_read("quarantine")
    case.check()
