"""`status` while Postgres or the broker is away, or accepts and never answers: red, and soon."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import typer
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from typer.testing import CliRunner

from cli.commands import stack as commands
from kappa.core.installation.addresses import Kafka, Metrics
from kappa.core.installation.embedded import Ports
from kappa.core.installation.settings import Settings
from stack.services import kafka as broker
from stack.services import postgres
from stack.status.overview import endpoints, of_stack, status
from stack.supervision import Process, Supervisor
from tests.rigs.small_stack import free_ports
from tests.stack.silent_parts import let_in, listening

BOUND_SECONDS = 2.0
SLACK_SECONDS = 20.0
"""For a machine that is busy; without a bound it would last for ever."""
STARTED = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> None:
    """The supervisor says that all is well."""
    found = [Process(name, 1, "RUNNING", STARTED) for name in (broker.NAME, postgres.NAME)]
    monkeypatch.setattr(Supervisor, "processes", lambda _: found)


class Unwanted(Collector):
    """Metrics that nobody should have asked for."""

    def collect(self) -> Iterable[Metric]:
        """Never."""
        raise AssertionError("a look was taken to answer whether somebody is there")


def at(folder: Path, **ports: int) -> Settings:
    """A stack of which only these parts are anywhere."""
    nobody = dict(zip(("kafka", "postgres"), free_ports(2), strict=True))
    return Settings(folder / "state", ports=Ports(**{**nobody, **ports}))


def red(settings: Settings) -> dict[str, str]:
    """The red lines of `status`: what is wrong, by the words before the colon."""
    begun = time.monotonic()
    found = status(settings, Path.cwd(), BOUND_SECONDS)["red"]
    assert time.monotonic() - begun < SLACK_SECONDS
    assert all(line["runbook"] == "docs/runbook.md" for line in found)
    return dict(line["what"].split(": ", 1) for line in found)


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize("greet", [lambda _: None, let_in], ids=["never answers", "lets in and never answers"])
def test_a_postgres_that_never_answers_is_red(tmp_path: Path, greet: Callable[[socket.socket], None]) -> None:
    with listening(greet) as port:
        found = red(at(tmp_path, postgres=port))
    assert found["postgres does not answer"].startswith(f"no answer from 127.0.0.1:{port} within 2 s")


@pytest.mark.usefixtures("running")
def test_a_broker_that_never_answers_is_red(tmp_path: Path) -> None:
    with listening() as port:
        found = red(at(tmp_path, kafka=port))
    assert f"127.0.0.1:{port}" in found["kafka does not answer"]


@pytest.mark.usefixtures("running")
def test_parts_that_nobody_listens_for_are_red(tmp_path: Path) -> None:
    found = red(at(tmp_path))
    assert "Connection refused" in found["postgres does not answer"]
    assert "kafka does not answer" in found


def test_of_a_stack_that_is_down_nothing_else_is_said(tmp_path: Path) -> None:
    found = status(at(tmp_path), Path.cwd(), BOUND_SECONDS)
    assert [line["what"] for line in found["red"]] == ["the stack is down"]
    assert (found["jobs"], found["replays"]) == ([], [])


def test_an_installation_elsewhere_has_no_processes_to_see_and_its_parts_are_asked_all_the_same(tmp_path: Path) -> None:
    here = at(tmp_path)
    elsewhere = replace(here, postgres=replace(here.database_server, port=here.ports.postgres))
    found = status(elsewhere, Path.cwd(), BOUND_SECONDS)
    assert [line["what"].split(":")[0] for line in found["red"]] == [
        "postgres does not answer", "kafka does not answer",
    ]  # fmt: skip


def watched(folder: Path, url: str) -> Settings:
    """An installation elsewhere of which only the monitor may be anywhere."""
    here = at(folder)
    away = replace(here.database_server, port=here.ports.postgres)
    return replace(here, postgres=away, metrics=Metrics(url=url))


def test_a_monitor_elsewhere_is_asked_and_need_not_look_at_anything_to_answer(tmp_path: Path) -> None:
    looks = CollectorRegistry()
    looks.register(Unwanted())
    (port,) = free_ports(1)
    server, thread = start_http_server(port, "127.0.0.1", looks)
    try:
        elsewhere = watched(tmp_path, f"http://127.0.0.1:{port}")
        assert set(red(elsewhere)) == {"postgres does not answer", "kafka does not answer"}
        assert endpoints(elsewhere)["monitor"] == f"http://127.0.0.1:{port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_monitor_elsewhere_that_does_not_answer_is_red(tmp_path: Path) -> None:
    away = f"http://127.0.0.1:{free_ports(1)[0]}"
    assert red(watched(tmp_path, away))["monitor does not answer"].startswith(f"{away}: ")
    with listening() as port:
        silent = red(watched(tmp_path, f"http://127.0.0.1:{port}"))["monitor does not answer"]
    assert silent.startswith(f"no answer from http://127.0.0.1:{port} within 2 s") or "timed out" in silent


def test_where_no_monitor_is_named_none_is_told_of(tmp_path: Path) -> None:
    assert endpoints(watched(tmp_path, ""))["monitor"] is None
    here = at(tmp_path)
    assert endpoints(here)["monitor"] == f"http://127.0.0.1:{here.ports.monitor}"


@pytest.mark.usefixtures("running")
def test_the_command_ends_with_1_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ports = at(tmp_path).ports
    (tmp_path / "kappa.toml").write_text(f"[ports]\nkafka = {ports.kafka}\npostgres = {ports.postgres}\n")
    monkeypatch.setenv("KAPPA_HOME", str(tmp_path / "state"))
    app = typer.Typer()
    commands.register(app)
    for_people = CliRunner().invoke(app, ["status"])
    assert for_people.exit_code == 1
    assert "red: postgres does not answer: " in for_people.output
    assert "docs/runbook.md" in for_people.output
    told = CliRunner().invoke(app, ["status", "--json"])
    assert told.exit_code == 1
    assert {line["what"].split(":")[0] for line in json.loads(told.stdout)["red"]} == {
        "postgres does not answer",
        "kafka does not answer",
    }


def test_who_may_read_and_who_may_write_the_log_is_in_a_file_each(tmp_path: Path) -> None:
    found = endpoints(at(tmp_path))
    assert set(found) == {
        "kafka", "postgres", "postgres_ops", "airflow", "spark", "monitor", "kafka_reader", "kafka_producer",
    }  # fmt: skip
    assert [Path(str(found[name])).name for name in ("kafka_reader", "kafka_producer")] == [
        "kafka_reader.properties",
        "kafka_producer.properties",
    ]
    plain = replace(at(tmp_path), kafka=Kafka("127.0.0.1:1", "PLAINTEXT"))
    assert (endpoints(plain)["kafka_reader"], endpoints(plain)["kafka_producer"]) == (None, None)


def test_the_supervisor_is_asked_beside_postgres(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()
    monkeypatch.setattr(Supervisor, "processes", lambda _: [] if asked.wait(SLACK_SECONDS) else pytest.fail("alone"))

    def greet(caller: socket.socket) -> None:
        asked.set()

    with listening(greet) as port:
        status(at(tmp_path, postgres=port), Path.cwd(), BOUND_SECONDS)
    assert asked.is_set()


@pytest.mark.parametrize(
    ("state", "ended", "since"),
    [
        ("STOPPED", STARTED + timedelta(hours=3), "2026-01-31T15:00:00+00:00"),
        ("STARTING", STARTED - timedelta(seconds=5), "2026-01-31T12:00:00+00:00"),
        ("BACKOFF", None, "2026-01-31T12:00:00+00:00"),
        ("STOPPING", None, None),
    ],
)
def test_a_process_that_does_not_run_is_red_since_it_ended_or_was_started_last(
    state: str, ended: datetime | None, since: str | None
) -> None:
    found = of_stack([Process(broker.NAME, 0, state, STARTED, ended)], [])
    assert [(line["what"], line["since"]) for line in found] == [(f"process kafka is {state}", since)]
