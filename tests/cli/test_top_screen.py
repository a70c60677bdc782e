"""The screen of `top`: what it shows of what was read, and that it fits."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from cli.top_screen import Beside, row, screen, seconds

COLUMNS, LINES = 100, 40


def version(**changed: Any) -> dict[str, Any]:
    held = {
        "job": "client_spend", "version": 12, "state": "LIVE", "desired": "running", "serves": True,
        "lag_events": 123_456, "lag_seconds": 59.94, "latency": {"p50": 0.45, "p99": 12.34}, "minute_read": 60_000,
        "batch_ms": 1_234, "state_rows": 1_234_567, "commit_seconds": 0.9,
    }  # fmt: skip
    return {**held, **changed}


def sums(**changed: Any) -> dict[str, Any]:
    return {"impressions": 60_000, "clicks": 287, "ctr": 0.00478, "spend_micros": "9007199254740993", **changed}


def drawn(
    red: list[dict[str, Any]] | None = None, beside: Beside | None = None, questions: int = 0, **changed: Any
) -> str:
    now = {
        "at": 1_800_000_000.0,
        "red": red or [],
        "questions": questions,
        "versions": [version(job=job, **changed) for job in ("ad_ctr", "b", "c")],
    }
    points = [{"at": 1_800_000_000 + 60 * n, "is_final": n < 12, **sums()} for n in range(15)]
    clients = [{"client_id": f"c{n}", **sums()} for n in range(20)]
    numbers = {"points": points, "clients": {"rows": clients, "among": 512}, "choice": {"span": "15m"}}
    console = Console(file=io.StringIO(), width=COLUMNS, force_terminal=False)
    console.print(screen(now, numbers, beside or Beside({"findings": []}, ())))
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_three_jobs_at_work_fit_a_terminal_of_the_usual_size() -> None:
    lines = drawn().splitlines()
    assert max(map(len, lines)) <= COLUMNS
    assert len(lines) <= LINES
    assert "…" not in "".join(lines), "nothing is cut off"
    [of_ad_ctr] = [line for line in lines if "ad_ctr v12" in line]
    for cell in ("LIVE", "123,456", "59.9 s", "450 ms/12.3 s", "1,000.0", "1.2 s", "1,234,567", "900 ms"):
        assert cell in of_ad_ctr


def test_money_is_exact_and_what_is_final_is_told_from_what_is_not() -> None:
    lines = drawn().splitlines()
    assert "9,007,199,254.740993" in "".join(lines)
    assert sum(line.rstrip(" │").endswith("final") for line in lines) == 5
    assert sum(line.rstrip(" │").endswith("open") for line in lines) == 3
    assert "5 of 512" in "".join(lines)


def red_line(**changed: Any) -> dict[str, Any]:
    return {
        "what": "ad_ctr v1 query: [bold]why[/]", "since": "2026-11-26T10:00:00+00:00",
        "next": "./kappa status --job ad_ctr", "runbook": 'docs/runbook.md, "JOB vN query: [...]"', **changed,
    }  # fmt: skip


def test_a_red_line_is_shown_as_it_is_with_what_to_do() -> None:
    shown = drawn([red_line()])
    assert "red: ad_ctr v1 query: [bold]why[/]" in shown
    assert "since 2026-11-26 10:00:00 UTC; next: ./kappa status --job ad_ctr" in shown
    assert 'docs/runbook.md, "JOB vN query: [...]"' in shown
    assert "no stream is red" not in shown
    assert "no stream is red" in drawn()


def test_a_red_line_whose_beginning_is_not_known_says_so() -> None:
    assert "since a time that is not known; next: " in drawn([red_line(since=None)])


def test_what_is_not_known_is_empty_and_who_does_not_serve_is_named() -> None:
    cells = row(version(
        serves=False, desired="stopped", lag_events=None, lag_seconds=None, latency={"p50": None, "p99": None},
        batch_ms=None, state_rows=None, commit_seconds=None, minute_read=0,
    ))  # fmt: skip
    assert cells == ("client_spend v12 (does not serve)", "LIVE, stopped", "", "", "", "0.0", "", "", "")


@pytest.mark.parametrize(
    ("value", "text"), [(0.0004, "0 ms"), (0.9, "900 ms"), (99.94, "99.9 s"), (7_200.0, "120 min")]
)
def test_a_length_of_time_is_short(value: float, text: str) -> None:
    assert seconds(value) == text


FOUND = {
    "cause": "disk", "title": "the disk is filling up", "subject": "/data [a]", "since": "2026-11-26T10:00:00+00:00",
    "detail": "91 % of it is taken.", "readers": "None yet.", "runbook": "The disk is filling up",
    "next": "./kappa status",
}  # fmt: skip


def test_what_the_monitor_finds_stands_with_the_red_lines() -> None:
    shown = drawn(beside=Beside({"findings": [FOUND]}, ()))
    assert "red: the disk is filling up: /data [a]: 91 % of it is taken." in shown
    assert "since 2026-11-26 10:00:00 UTC; next: ./kappa status" in shown
    assert 'docs/runbook.md, "The disk is filling up"' in shown
    assert "no stream is red" in shown, "of the streams"


def test_a_monitor_that_says_nothing_or_nothing_yet_is_told() -> None:
    silent = drawn(beside=Beside({"silent": "the monitor does not answer at http://[::1]:1"}, ()))
    assert "of parts, disk, clocks and backlogs nothing is known: the monitor does not answer at http://[::1]" in silent
    assert "of parts, disk, clocks and backlogs nothing is known yet" in drawn(beside=Beside(None, ()))


def test_advice_is_told_with_its_command_and_no_advice_is_not() -> None:
    more = {
        "job": "ad_ctr",
        "version": 1,
        "size": "more",
        "sentence": "It is busy",
        "command": "./kappa rescale ad_ctr",
    }
    shown = drawn(beside=Beside({"findings": []}, (more, {**more, "size": "none", "job": "b"})))
    assert "advice ad_ctr v1: ./kappa rescale ad_ctr" in shown
    assert "It is busy" in shown
    assert "advice b" not in shown


@pytest.mark.parametrize(("questions", "told"), [(1, "a question waits"), (2, "2 questions wait")])
def test_a_question_that_waits_says_where_it_is_answered(questions: int, told: str) -> None:
    assert f"{told}: may what was replayed serve? Airflow, Streams, Replays" in drawn(questions=questions)
    assert "wait" not in drawn()


def test_all_of_it_fits_the_columns_of_a_terminal() -> None:
    long = {**FOUND, "detail": "why " * 80, "subject": "x" * 60}
    more = {"job": "client_spend", "version": 12, "size": "more", "sentence": "busy " * 60, "command": "./kappa " * 20}
    lines = drawn([red_line(what="w" * 300)], Beside({"findings": [long]}, (more,)), questions=1).splitlines()
    assert max(map(len, lines)) <= COLUMNS
