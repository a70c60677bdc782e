"""The broker is stopped for a while, in the middle of reading and of writing: afterwards all is exact."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from kappa.core.log import kafka_log
from stack.layout import Layout
from stack.services import kafka
from tests.rigs.events import mixture
from tests.rigs.program import PATIENCE_SECONDS
from tests.rigs.rig import Rig
from tests.rigs.small_stack import standing_still

pytestmark = pytest.mark.rig


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
            with standing_still(parts, kafka.NAME):
                rest = pool.submit(case.produce, records[1_200:])
                program.until("a question has timed out", lambda: "the broker does not answer" in caplog.text)
            case.relieve()
            rest.result(PATIENCE_SECONDS)
        program.await_read()
        assert case.progress("ad_ctr") != before
        assert case.state("ad_ctr") == "LIVE"
    case.run_until_read("quarantine")
    case.check()
