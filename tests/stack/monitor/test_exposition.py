"""Metrics of a look: each is in the closed list, and what could not be read is not told."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest

from kappa.core.fates import Fate
from kappa.core.metrics import METRICS, Kind, Source
from stack.monitor.endpoint import LooksCollector
from stack.monitor.look import Disk, Look, Looks
from stack.monitor.registry import Registry
from stack.supervision import Process

VERSION: dict[str, Any] = {
    "job": "ad_ctr", "version": 3, "state": "LIVE", "desired": "running", "serves": True, "lag_events": 40,
    "lag_seconds": 600.0, "unread_seconds": 900.0,
    "complete_seconds": 7300.0, "epoch": 2, "batch_ms": 1500, "watermark_delay_ms": 7_560_000,
    "state_rows": 10, "state_bytes": 4096, "watermark_seconds": 7600.0, "committed": 990.0, "beat": 999.0,
    "skew_seconds": 1.5, "is_changing": True, "recent_read": 200, "recent_refused": 5, "recent_future": 1,
    "read": 1000, "residual": 0, **dict.fromkeys(Fate, 0), "counted": 900, "late": 100,
}  # fmt: skip
CANDIDATES = [
    {"job": "ad_ctr", "version": 4, "rate_per_second": 2_000.0, "eta_seconds": 90.0},
    {"job": "client_spend", "version": 2, "rate_per_second": 0.0, "eta_seconds": None},
]
REGISTRY = Registry(
    [VERSION],
    [{"line": "silent", "what": "", "of": "ad_ctr v3"}],
    [{"phase": "catching up", "candidates": CANDIDATES}],
    {"leases": 1, "changes": 0, "releases": 7},
    1001.25,
    -2.5,
    0.75,
)
PROCESSES = [
    Process("kafka", 7, "RUNNING", datetime.fromtimestamp(400.0, UTC)),
    Process("spark-worker", 0, "BACKOFF", datetime.fromtimestamp(990.0, UTC)),
]
WHOLE = Look(1000.0, PROCESSES, frozenset(), REGISTRY, REGISTRY.red, Disk(5, 10), 0.25, clock_ahead_seconds=1.0)
AWAY = Look(1000.0, away=frozenset({"postgres"}), red=[{"line": "part", "of": "postgres"}])


def scraped(seen: Look) -> dict[str, float]:
    """Samples by name and labels, as Prometheus reads them."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(LooksCollector(Looks(lambda: seen), 168, 5_000))
    lines = generate_latest(registry).decode().splitlines()
    samples = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in samples}


def test_numbers_of_the_registry_are_told_in_the_units_of_the_list() -> None:
    found = scraped(WHOLE)
    of = '{job_name="ad_ctr",version="3"}'
    assert found[f"kappa_lag_records{of}"] == 40
    assert found[f"kappa_retention_slack_seconds{of}"] == 168 * 3600 - 900
    assert found[f"kappa_batch_seconds{of}"] == 1.5
    assert found[f"kappa_watermark_delay_seconds{of}"] == 7560
    assert found[f"kappa_refused_ratio{of}"] == 0.025
    assert found[f"kappa_driver_starts_total{of}"] == 2
    assert found['kappa_records_total{fate="late",job_name="ad_ctr",version="3"}'] == 100
    assert found['kappa_version_info{desired="running",job_name="ad_ctr",state="LIVE",version="3"}'] == 1
    assert found['kappa_red_lines{cause="silent",of="ad_ctr v3"}'] == 1
    assert found['kappa_red_lines_expected{cause="silent",of="ad_ctr v3"}'] == 1
    assert found['kappa_replays{phase="catching up"}'] == 1
    assert found["kappa_releases_total"] == 7
    assert found["kappa_hand_over_seconds"] == 0.75
    assert found["kappa_clock_ahead_seconds"] == 1
    assert found["kappa_newest_append_ahead_seconds"] == -2.5
    assert found["kappa_disk_free_bytes"] == 5
    assert found["kappa_disk_wanted_bytes"] == 5e9


def test_of_a_replay_under_way_its_rate_and_the_time_left_are_told_where_it_comes_nearer() -> None:
    found = {name: value for name, value in scraped(WHOLE).items() if name.startswith("kappa_replay_")}
    assert found == {
        'kappa_replay_records_per_second{job_name="ad_ctr",version="4"}': 2_000,
        'kappa_replay_records_per_second{job_name="client_spend",version="2"}': 0,
        'kappa_replay_left_seconds{job_name="ad_ctr",version="4"}': 90,
    }


def test_a_registry_that_is_away_is_a_metric_and_the_rest_is_not_made_up() -> None:
    found = scraped(AWAY)
    assert (found["kappa_registry_up"], found['kappa_part_up{part="postgres"}']) == (0, 0)
    assert found['kappa_part_up{part="kafka"}'] == 1
    assert not [name for name in found if name.startswith(("kappa_lag", "kappa_records", "kappa_clock"))]


def test_what_a_version_has_not_yet_is_not_told() -> None:
    bare = {**VERSION, "beat": None, "unread_seconds": None, "batch_ms": None, "recent_read": 0}
    found = scraped(Look(1000.0, registry=Registry([bare], [], [], REGISTRY.counts)))
    for name in ("last_heartbeat_timestamp_seconds", "retention_slack_seconds", "batch_seconds", "refused_ratio"):
        assert not [told for told in found if told.startswith(f"kappa_{name}")]


def test_each_metric_of_the_stack_is_told_and_no_other() -> None:
    names = {name.partition("{")[0] for name in scraped(WHOLE)}
    assert names == {metric.name for metric in METRICS if metric.source is Source.STACK}


def test_a_silent_driver_is_expected_only_while_a_run_changes_its_version() -> None:
    at_rest = Registry([{**VERSION, "is_changing": False}], REGISTRY.red, [], REGISTRY.counts)
    found = scraped(Look(1000.0, registry=at_rest, red=REGISTRY.red))
    assert found['kappa_red_lines{cause="silent",of="ad_ctr v3"}'] == 1
    assert not [name for name in found if "expected{" in name]


def test_when_a_process_was_started_is_told_while_it_runs() -> None:
    found = {name: value for name, value in scraped(WHOLE).items() if name.startswith("kappa_process")}
    assert found == {
        'kappa_process_up{process="kafka"}': 1,
        'kappa_process_up{process="spark-worker"}': 0,
        'kappa_process_start_timestamp_seconds{process="kafka"}': 400,
    }


def test_names_say_what_prometheus_wants_of_them() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    for metric in METRICS:
        assert (metric.kind is Kind.COUNTER) == metric.name.endswith("_total"), metric.name


def test_who_asks_at_once_gets_one_look() -> None:
    made: list[Look] = []

    def look() -> Look:
        made.append(WHOLE)
        return WHOLE

    now = [0.0]
    looks = Looks(look, lambda: now[0])
    for _ in range(100):
        looks.newest()
    assert len(made) == 1
    now[0] = 5.0
    looks.newest()
    assert len(made) == 2
