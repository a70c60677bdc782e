"""The main job on real parts: what the jobs serve equals what the oracle recomputes, whatever happens meanwhile."""

from __future__ import annotations

import json
import random
import time
from functools import partial

import psutil
import psycopg
import pytest
from confluent_kafka import Producer

from kappa.core.installation.kafka_access import KafkaUser
from stack import leftovers
from tests.integration.beside import load
from tests.integration.injected import JVM, PYTHON, kill_of
from tests.integration.outages import while_postgres_is_away, while_the_broker_is_killed
from tests.integration.replays.edge import Edge
from tests.integration.versions import epochs
from tests.rigs.running_stack import JOBS, Stack

pytestmark = pytest.mark.integration


def test_a_first_deployment_serves_and_a_second_one_changes_nothing(deployed: Stack) -> None:
    before = deployed.query("select job, version, created_at, updated_at from ops.versions order by job")
    assert [(job, version) for job, version, _, _ in before] == [(job, 1) for job in sorted(JOBS)]
    assert deployed.query("select count(*) from ops.segments where to_window = 'infinity'") == [(3,)]
    again = deployed.kappa("deploy", *JOBS, "--reason", "again")
    assert again.err.count("nothing was changed") == 3
    assert deployed.query("select job, version, created_at, updated_at from ops.versions order by job") == before


def test_what_is_served_is_what_the_log_adds_up_to(deployed: Stack) -> None:
    deployed.produce(1, 8_000, "--full-speed")
    verdict = deployed.reconcile()
    assert verdict["records"] >= 8_000
    fates = next(job["fates"] for job in verdict["jobs"] if job["job"] == "ad_ctr")
    assert all(fates[fate] > 0 for fate in ("counted", "duplicate", "repeated_click", "late", "future", "dead_letter"))


@pytest.mark.fault("F18", "each is in ops.quarantine with reason and bytes, and no driver was started again")
def test_poison_is_quarantined_with_reason_and_bytes_and_restarts_nothing(deployed: Stack) -> None:
    starts = deployed.query("select job, epoch from ops.drivers order by job")
    poison = [
        b"", b"\x00", b"\xff\xfe{}", b"{" * 60_000, b"[" * 60_000 + b"]" * 60_000, b"x" * 1_000_000, b"null", b"{}",
        b'{"x":"\\ud800","y":' + b"1" * 4_301 + b"}", b'{"event_id":1}',
        '{"user_id":"\ud800"}'.encode("utf-8", "surrogatepass"),
    ]  # fmt: skip
    producer = Producer(
        {**deployed.settings.kafka_access(KafkaUser.PRODUCER).librdkafka(), "message.max.bytes": 1_100_000}
    )
    for number, value in enumerate(poison):
        producer.produce(deployed.settings.topic.name, value, key=f"poison-{number}")
    producer.produce(deployed.settings.topic.name, None, key=b"\xff\x00")
    producer.produce(deployed.settings.topic.name, None, key=None)
    assert producer.flush(30) == 0
    deployed.reconcile()
    found = deployed.query(
        "select key, value, value_bytes, reason from ops.quarantine where key like 'poison-%%'::bytea"
    )
    assert len(found) == len(poison)
    assert all(reason for _, _, _, reason in found)
    assert all(bytes(value) == poison[int(bytes(key)[7:])][:4096] for key, value, _, _ in found)
    assert {size for _, _, size, _ in found} == {len(value) for value in poison}
    assert deployed.query("select job, epoch from ops.drivers order by job") == starts


def test_both_jobs_bill_the_same_per_client_and_day(deployed: Stack) -> None:
    deployed.produce(2, 2_000, "--full-speed")
    deployed.until("somebody is billed", lambda: bool(deployed.query("select 1 from serving.client_spend_day limit 1")))
    account = ("--currency", "USD", "--daily-budget", "12.5", "--valid-from", "2020-01-01")
    (client,) = deployed.query("select min(client_id) from serving.client_spend_day")[0]
    deployed.kappa("client", "set", client, "--time-zone", "America/New_York", *account)
    deployed.reconcile()
    differing = deployed.query(
        "select * from (select client_id, sum(spend_micros) s from serving.ad_ctr_minute group by 1) a full join "
        "(select client_id, sum(spend_micros) s from serving.client_spend_day group by 1) d using (client_id) "
        "where a.s is distinct from d.s"
    )
    assert differing == []


@pytest.mark.long(minutes=1)
@pytest.mark.fault("F1", "a new epoch of both drivers, and differences are 0")
def test_killed_drivers_are_started_again_and_nothing_is_lost_or_counted_twice(deployed: Stack) -> None:
    """At once the Python process of one job's driver and the JVM of another's."""
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    rng = random.Random(seed)
    victims = dict(zip(rng.sample(JOBS, 2), (PYTHON, JVM), strict=True))
    with load(deployed, seed):
        time.sleep(3 + rng.random() * 3)
        before = dict(epochs(deployed))
        for job, kind in victims.items():
            kill_of(deployed, kind, job)
        for job in victims:
            deployed.until(f"{job} restarted", partial(_is_past, deployed, job, before[job]))
    deployed.reconcile()


@pytest.mark.long(minutes=1)
def test_a_stopped_job_goes_on_where_it_stood(deployed: Stack) -> None:
    _stop(deployed, "client_spend")
    deployed.produce(4, 2_000, "--full-speed")
    deployed.kappa("start", "client_spend", "--reason", "test")
    deployed.reconcile()


@pytest.mark.long(minutes=3)
def test_a_stopped_job_stays_stopped_over_down_and_up(deployed: Stack) -> None:
    """Nothing is left of a stack that is down; those jobs work again, and the stopped one once started."""
    _stop(deployed, "client_spend")
    with load(deployed, 6):
        time.sleep(4)
    deployed.kappa("down")
    assert leftovers.marked(deployed.settings.home) == set()
    assert not [p for p in psutil.process_iter(["cmdline"]) if _is_of(deployed, p)]
    deployed.kappa("up")
    assert deployed.query("select desired from ops.versions where job = 'client_spend'") == [("stopped",)]
    assert deployed.drivers("client_spend") == []
    deployed.kappa("start", "client_spend", "--reason", "test")
    deployed.reconcile()


def _stop(stack: Stack, job: str) -> None:
    """Stop a job by its command, and wait for its driver to be gone."""
    stack.kappa("stop", job, "--reason", "test")
    stack.until("the driver is gone", lambda: not stack.drivers(job))


def _is_of(stack: Stack, process: psutil.Process) -> bool:
    return str(stack.settings.home) in " ".join(process.info["cmdline"] or [])


@pytest.mark.fault("F9", "10 s: no driver ends, batches go on when Postgres is back, and differences are 0")
def test_while_postgres_is_away_the_drivers_wait_and_then_go_on(deployed: Stack) -> None:
    with load(deployed, 5):
        while_postgres_is_away(deployed, seconds=10)
    deployed.reconcile()


@pytest.mark.fault("F13", "the log holds exactly what the broker acknowledged, and differences are 0")
def test_a_broker_that_is_killed_loses_nothing_that_it_acknowledged(deployed: Stack, edge: Edge) -> None:
    edge.await_sent()
    while_the_broker_is_killed(deployed, times=1, every_seconds=4, rate=100)
    deployed.reconcile()


def test_readers_see_what_is_served_and_nothing_else(deployed: Stack) -> None:
    assert deployed.query("select count(*) >= 0 from serving.ad_ctr_minute", role="kappa_reader") == [(True,)]
    for hidden in ("ops.accounting", "registry.segment", "data.ad_ctr_minute", "reference.client"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            deployed.query(f"select * from {hidden} limit 1", role="kappa_reader")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        deployed.query("create table public.mine (n integer)", role="kappa_reader")


def test_status_is_green_and_in_the_shape_of_the_contract(deployed: Stack) -> None:
    deployed.until("nothing is red", lambda: deployed.kappa("status", expect=None).exit_code == 0)
    report = json.loads(deployed.kappa("status", "--json", expect=None).out)
    files = {"kafka_reader", "kafka_producer"}
    assert set(report["endpoints"]) == {"kafka", "postgres", "postgres_ops", "airflow", "spark", "monitor"} | files
    assert {job["job"] for job in report["jobs"]} == set(JOBS)
    for job in report["jobs"]:
        for version in job["versions"]:
            assert {
                "version",
                "state",
                "state_partitions",
                "executor_cores",
                "lag_events",
                "freshness_seconds",
                "driver_pid",
            } <= set(version)


def _is_past(stack: Stack, job: str, epoch: int) -> bool:
    return dict(epochs(stack))[job] > epoch
