"""What the stack is doing, in the shape of the contract (section 6)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.no_registry import NoRegistry
from kappa.core.installation.settings import Settings
from kappa.status.red_lines import RUNBOOK
from stack import supervision
from stack.layout import Layout
from stack.services import monitor
from stack.status import job as job_status
from stack.status import outages
from stack.status.outages import DoesNotAnswer
from stack.supervision import Process

Line = dict[str, Any]
Problem = DoesNotAnswer | NoRegistry


def status(settings: Settings, checkout: Path, seconds: float = outages.BOUND_SECONDS) -> dict[str, Any]:
    """The document of `status --json`; the supervisor, Postgres, the broker and a monitor elsewhere are asked side by
    side, and have so many seconds to answer.

    {"endpoints": {...}, "processes": [{"name", "pid", "state"}], "jobs": [...],
    "replays": [...], "red": [{"what", "since", "runbook", "line", "of"}]}
    """
    asked = [ask(settings, seconds) for ask in (outages.ask_broker, outages.ask_monitor)]
    with ThreadPoolExecutor(1) as beside:
        supervised = beside.submit(outages.ask_supervisor, Layout(settings, checkout), seconds)
        versions, lines, replays, without = _jobs(settings, seconds)
    processes, problems = supervised.result()
    problems += without
    problems += [silent for told in asked if (silent := told())]
    return {
        "endpoints": endpoints(settings),
        "processes": [{"name": p.name, "pid": p.pid or None, "state": p.state} for p in processes],
        "jobs": versions,
        "replays": replays,
        "red": [*of_stack(processes, problems, settings.is_embedded), *lines],
    }


def _jobs(settings: Settings, seconds: float) -> tuple[list[Line], list[Line], list[Line], list[Problem]]:
    """Versions, red lines and replays; without them what keeps Postgres from telling."""
    try:
        return *job_status.read(settings, seconds), []
    except (DoesNotAnswer, NoRegistry) as problem:
        return [], [], [], [problem]


def endpoints(settings: Settings) -> dict[str, str | None]:
    """Addresses of the parts; none of a monitor elsewhere that the settings do not name. A DSN names a password file,
    never a password. So do the two files with which any client may read, or write, the log; they are none where the
    broker does not ask who is there."""
    asks = settings.kafka_server.asks_who
    return {
        "kafka": settings.kafka_server.bootstrap,
        "postgres": settings.dsn("kappa_reader"),
        "postgres_ops": settings.dsn("kappa_operator"),
        "airflow": settings.airflow_url,
        "spark": settings.spark_master,
        "monitor": monitor.url(settings),
        "kafka_reader": str(settings.kafka_access(KafkaUser.READER).file) if asks else None,
        "kafka_producer": str(settings.kafka_access(KafkaUser.PRODUCER).file) if asks else None,
    }


def of_stack(processes: list[Process], problems: Collection[Problem], embedded: bool = True) -> list[Line]:
    """A red line for each process that does not run and each part that does not answer; of a stack that is down, that
    it is says all. Of an installation elsewhere there are no processes to see. `of` names the process or the part."""
    if embedded and not processes and all(problem.part != supervision.NAME for problem in problems):
        return [_line("the stack is down", None, "down", "")]
    since = {p.name: p.since.isoformat() if p.since else None for p in processes if not p.runs}
    of_processes = [
        _line(f"process {p.name} is {p.state}", since[p.name], "process", p.name) for p in processes if p.name in since
    ]
    return [*of_processes, *map(partial(_of_part, since), problems)]


def _of_part(since: Mapping[str, str | None], problem: Problem) -> Line:
    kind = "registry" if isinstance(problem, NoRegistry) else "part"
    return _line(str(problem), since.get(problem.part), kind, problem.part)


def _line(what: str, since: str | None, line: str, of: str) -> Line:
    return {"what": what, "since": since, "runbook": RUNBOOK, "line": line, "of": of}
