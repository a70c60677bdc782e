"""What a driver tells of itself, and that it needs no port to work."""

from __future__ import annotations

import socket
import urllib.request
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from jobs import metrics
from jobs.driver import execution
from jobs.metrics import DriverMetrics, served
from jobs.sinks.batch_sink import Committed
from kappa.core.installation.addresses import Metrics
from kappa.core.metrics import METRICS, Source
from tests.rigs.events import events
from tests.rigs.rig import Rig


class Version:
    """As much of a version as is needed."""

    job, version = "ad_ctr", 3


def of(committed: Committed, unread: int | None) -> DriverMetrics:
    """Those of a driver that is heard."""
    version: Any = Version()
    return DriverMetrics(version, lambda: committed, lambda: unread, lambda: True)


def scraped(port: int | None) -> dict[str, float]:
    """Samples by name and labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    samples = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in samples}


def answered(port: int) -> dict[str, float]:
    """The same of a driver that may only be starting."""
    try:
        return scraped(port)
    except OSError:
        return {}


def test_a_driver_tells_what_only_it_knows() -> None:
    told = of(Committed(batch_id=7, at_ms=1_500), 40)
    told.phases, told.queries, told.evictions = {"addBatch": 700, "commitOffsets": 5}, 3, 1
    with served(Metrics(), told) as port:
        found = scraped(port)
    label = '{job_name="ad_ctr",version="3"}'
    assert found == {
        'kappa_driver_batch_phase_seconds{job_name="ad_ctr",phase="addBatch",version="3"}': 0.7,
        'kappa_driver_batch_phase_seconds{job_name="ad_ctr",phase="commitOffsets",version="3"}': 0.005,
        f"kappa_driver_last_commit_timestamp_seconds{label}": 1.5,
        f"kappa_driver_lag_records{label}": 40,
        f"kappa_driver_heard{label}": 1,
        f"kappa_driver_query_starts_total{label}": 3,
        f"kappa_driver_evictions_total{label}": 1,
    }
    names = {name.partition("{")[0] for name in found}
    assert names == {metric.name for metric in METRICS if metric.source is Source.DRIVER}


def test_before_its_first_batch_it_makes_nothing_up() -> None:
    with served(Metrics(), of(Committed(), None)) as port:
        assert {name.partition("{")[0] for name in scraped(port)} == {
            "kappa_driver_heard", "kappa_driver_query_starts_total", "kappa_driver_evictions_total",
        }  # fmt: skip


def test_drivers_of_one_host_have_ports_of_their_own() -> None:
    with served(Metrics(), of(Committed(), 1)) as first, served(Metrics(), of(Committed(), 2)) as second:
        assert first is not None
        assert second is not None
        assert first < second
        label = '{job_name="ad_ctr",version="3"}'
        assert [scraped(port)[f"kappa_driver_lag_records{label}"] for port in (first, second)] == [1, 2]


def test_once_the_driver_has_ended_nobody_listens() -> None:
    with served(Metrics(), of(Committed(), 1)) as port:
        pass
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port or 0)) != 0


@pytest.mark.rig
def test_a_running_driver_tells_of_its_batches(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "STATE_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    case = rig.case()
    case.produce(events(20))
    where = replace(case.settings, metrics=Metrics(first_driver_port=port))
    with case.driver(settings=where) as program:
        lag = 'kappa_driver_lag_records{job_name="ad_ctr",version="1"}'
        phase = 'kappa_driver_batch_phase_seconds{job_name="ad_ctr",phase="addBatch",version="1"}'
        evictions = 'kappa_driver_evictions_total{job_name="ad_ctr",version="1"}'
        numbers = count(100)

        def told_of_one_more() -> bool:
            case.produce(events(1, next(numbers)))
            told = answered(port)
            return phase in told and told[evictions] >= 1

        program.until("a batch is told, and an eviction", told_of_one_more)
        program.until("nothing is unread", lambda: answered(port).get(lag) == 0)
        found = scraped(port)
    assert found['kappa_driver_heard{job_name="ad_ctr",version="1"}'] == 1
    assert found['kappa_driver_query_starts_total{job_name="ad_ctr",version="1"}'] >= 1
    committed = case.query("select extract(epoch from committed_at) as at from registry.heartbeat")[0]["at"]
    told = found['kappa_driver_last_commit_timestamp_seconds{job_name="ad_ctr",version="1"}']
    assert told == pytest.approx(float(committed), abs=30)


def test_a_driver_works_without_a_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "DRIVER_PORTS", 1)
    reached = []
    with socket.create_server(("127.0.0.1", 0)) as holder:
        for first in (0, holder.getsockname()[1]):
            with served(replace(Metrics(), first_driver_port=first), of(Committed(), 1)) as port:
                reached.append(port)
    assert reached == [None, None]
