"""`status` for people: what it prints fits into 100 columns, however great the numbers are, and leaves nothing out."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from cli.commands.stack import COLUMNS, FATES, document, with_advice
from kappa.core.installation.settings import Settings

RUN = "manual__2026-11-25T22:10:11.123456+00:00"


def version(number: int, **changed: Any) -> dict[str, Any]:
    held = {
        "version": number, "state": "CATCHING_UP", "desired": "running", "lag_events": 123_456_789,
        "lag_seconds": 86_400.0, "freshness_seconds": 3_600.0, "batch_ms": 120_000,
        "complete_through": "2026-11-25T22:10:11.123456+00:00", "read": 1_234_567_890,
        **dict.fromkeys(FATES, 123_456_789),
    }  # fmt: skip
    return {**held, **changed}


def advice(size: str) -> dict[str, Any]:
    return {"job": "client_spend", "version": 12, "size": size, "sentence": f"{size}: because of [this] - " * 6,
            "command": "./kappa rescale client_spend --executors 64 --partitions 64"}  # fmt: skip


def report(**changed: Any) -> dict[str, Any]:
    candidate = {"job": "client_spend", "version": 12, "live": 11, "read": 123_456_789, "unread": 123_456_789,
                 "rate_per_second": 12_345.6, "eta_seconds": 12_345.0}  # fmt: skip
    replay = {"phase": "waiting for an answer", "from": "2026-11-25T22:10:11+00:00", "parity": "declared",
              "asked_by": "admin", "run_id": RUN, "candidates": [candidate]}  # fmt: skip
    held = {
        "processes": [{"name": "airflow-dag-processor", "pid": 1_234_567, "state": "RUNNING"}],
        "endpoints": {"postgres": "host=127.0.0.1 port=5432 dbname=kappa passfile=/somewhere/far/away/reader.pgpass"},
        "jobs": [{"job": job, "versions": [version(11, desired="stopped"), version(12)]}
                 for job in ("ad_ctr", "client_spend", "quarantine")],
        "replays": [replay],
        "advice": [advice("more"), advice("none")],
        "red": [{"what": "ad_ctr v11 query: " + "ValueError: no [such] thing - " * 8, "since": None,
                 "runbook": "docs/runbook.md", "line": "query", "of": "ad_ctr v11"}],
    }  # fmt: skip
    return {**held, **changed}


def printed(told: dict[str, Any]) -> str:
    out = io.StringIO()
    Console(file=out, width=COLUMNS).print(document(told, embedded=True))
    return out.getvalue()


def test_no_line_is_wider_and_no_number_is_cut() -> None:
    lines = printed(report()).splitlines()
    assert max(map(len, lines)) <= COLUMNS
    rows = [line for line in lines if "client_spend v12" in line]
    assert any("CATCHING_UP" in row and "123,456,789" in row and "11-25 22:10" in row for row in rows)
    assert any("client_spend v11" in line and "fates" in line for line in lines)
    assert sum("1,234,567,890" in line for line in lines) == 2, "six versions are two tables of fates"
    assert "…" not in "\n".join(lines)


def test_a_replay_is_told_in_words_with_its_run() -> None:
    words = " ".join(printed(report()).split())
    assert "replay client_spend v12, against v11: waiting for an answer, 123,456,789 read" in words
    assert f"asked by admin, run {RUN}" in words
    started = report()
    started["replays"][0]["candidates"][0] |= {"read": 0, "eta_seconds": 70.0}
    assert "its driver is starting, ready in about 1 min 10 s" in " ".join(printed(started).split())


def test_what_is_wrong_is_told_whole_and_is_no_markup() -> None:
    assert "ValueError: no [such] thing" in " ".join(printed(report()).split())
    assert "red:" not in printed(report(red=[]))


def test_a_red_line_names_its_entry_in_the_runbook_and_what_to_type_first() -> None:
    lines = printed(report()).splitlines()
    assert lines[-1] == "  first: ./kappa status --job ad_ctr"
    assert lines[-2] == '  docs/runbook.md, "JOB vN query: the query ended N times in a row without a commit: ..."'
    down = {"what": "the stack is down", "since": None, "runbook": "docs/runbook.md", "line": "down", "of": ""}
    assert printed(report(red=[down])).splitlines()[-2:] == [
        '  docs/runbook.md, "the stack is down"', "  first: ./kappa up",
    ]  # fmt: skip


def test_advice_is_a_line_with_its_command_and_why_below_and_none_is_not_told() -> None:
    lines = printed(report()).splitlines()
    assert "advice client_spend v12: ./kappa rescale client_spend --executors 64 --partitions 64" in lines
    assert "more: because of [this]" in "\n".join(lines)
    assert "none: because" not in "\n".join(lines)


def test_where_postgres_is_away_there_is_no_advice(settings: Settings) -> None:
    assert with_advice(settings, {"jobs": [{"job": "ad_ctr"}]})["advice"] == []


def test_where_no_job_is_known_none_is_looked_for(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.status_of_job.advised", lambda _: pytest.fail("nothing is to be looked at"))
    assert with_advice(settings, {"jobs": []}) == {"jobs": [], "advice": []}
