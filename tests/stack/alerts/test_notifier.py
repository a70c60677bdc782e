"""The notifier from a look to a webhook: one message for an incident and one for its end, whatever is away."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kappa.core.installation.settings import Settings
from kappa.status.causes import Cause
from stack.alerts.incidents import Incident
from stack.alerts.memory import MemoryFile, NotifierRuns
from stack.alerts.wording import Installation, opening
from stack.layout import Layout
from stack.monitor.look import Disk, Look, look
from stack.monitor.registry import Registry
from stack.services import postgres
from tests.rigs.small_stack import standing_still
from tests.stack.alerts.receiver import Receiver
from tests.stack.alerts.watch import RED, SILENT, WELL, Watch

QUESTION: dict[str, Any] = {
    "phase": "waiting for an answer", "asked_by": "ada", "run_id": "r1",
    "candidates": [{"job": "ad_ctr", "version": 2, "live": 1}],
}  # fmt: skip


def test_one_message_says_all_that_is_needed_and_one_that_it_is_over(watch: Watch, hook: Receiver) -> None:
    watch.see(120, RED)
    watch.see(120, WELL)
    assert [(told["title"], told["message"], told["type"]) for told in hook.told] == [
        (
            "red: no driver reports: ad_ctr v1",
            "What: ad_ctr v1 silent: wanted running, but no heartbeat for 30 s\n"
            "Since: 2026-09-21 14:12:50 UTC\n"
            "Readers: What is served stays right and grows old.\n"
            'Runbook: docs/runbook.md, "JOB vN silent: wanted running, but no heartbeat for 30 s"\n'
            "Next: ./kappa repair ad_ctr --dry-run\n"
            "Incident 1 of here",
            "failure",
        ),
        (
            "over: no driver reports: ad_ctr v1",
            "It was: ad_ctr v1 silent: wanted running, but no heartbeat for 30 s\n"
            "Since: 2026-09-21 14:12:50 UTC\n"
            "Over: 2026-09-21 14:15:15 UTC, after 2 min; gone for 30 s\n"
            "Incident 1 of here",
            "success",
        ),
    ]


@pytest.mark.parametrize(("embedded", "starts"), [(True, "./kappa up"), (False, "./kappa doctor")])
def test_what_up_did_not_start_it_is_not_said_to_start(embedded: bool, starts: str) -> None:
    away = Incident(1, Cause.KAFKA, ("kafka",), ("kafka does not answer",), 1_790_000_000, 1_790_000_015, 0)
    _, body = opening(away, Installation("here", embedded))
    assert f"Next: {starts}\n" in body


BOTH = {**QUESTION, "candidates": [*QUESTION["candidates"], {"job": "client_spend", "version": 5, "live": 3}]}
ANSWER = f"http://127.0.0.1:{Settings(Path()).ports.airflow}/dags/reprocess_stream/runs/r1/required_actions"


@pytest.mark.parametrize(("asked", "jobs"), [(QUESTION, "ad_ctr"), (BOTH, "ad_ctr client_spend")])
def test_of_a_question_it_is_told_where_and_how_to_answer(
    watch: Watch, hook: Receiver, asked: dict[str, Any], jobs: str
) -> None:
    watch.see(60, replace(WELL, registry=Registry(replays=[asked])))
    (told,) = hook.told
    assert f"answer at {ANSWER}" in told["message"]
    assert 'Runbook: docs/runbook.md, "A replay waits for an answer"' in told["message"]
    assert f"Next: ./kappa promote {jobs} --as approver --reason TEXT\n" in told["message"]
    assert (
        told["title"]
        == f"red: a replay waits for an answer: {'ad_ctr v2' if asked is QUESTION else 'ad_ctr v2, client_spend v5'}"
    )


def test_a_restart_tells_nothing_twice_and_forgets_nothing(watch: Watch, hook: Receiver) -> None:
    watch.see(60, RED)
    watch.start()
    watch.see(60, RED)
    watch.start()
    watch.see(60, WELL)
    assert [title.split(":")[0] for title in hook.titles] == ["red", "over"]


def test_a_target_that_refuses_is_told_later_and_once(watch: Watch, hook: Receiver) -> None:
    hook.status = 503
    watch.see(120, RED)
    assert watch.notifier.memory.outbox[0].tries > 1
    watch.start()
    hook.status = 200
    watch.see(300, RED)
    assert [title.split(":")[0] for title in hook.titles] == ["red"]


def test_what_is_over_before_it_could_be_told_is_one_message(watch: Watch, hook: Receiver) -> None:
    hook.status = 503
    watch.see(60, RED)
    watch.see(60, WELL)
    hook.status = 200
    watch.see(120, WELL)
    assert [title.split(":")[0] for title in hook.titles] == ["over"]


def test_what_can_wait_waits_until_the_quiet_span_is_over(tmp_path: Path, hook: Receiver) -> None:
    MemoryFile(tmp_path).folder.mkdir()
    watch = Watch(tmp_path, hook, quiet="22:00-16:30", time_zone="Europe/Berlin")
    question = replace(WELL, registry=Registry(replays=[QUESTION]))
    watch.see(60, replace(question, red=[SILENT]))
    assert hook.titles == ["red: no driver reports: ad_ctr v1"]
    watch.see(900, replace(question, red=[SILENT]))
    assert len(hook.titles) == 1, "it is 14:29 UTC, 16:29 in Berlin"
    watch.see(120, replace(question, red=[SILENT]))
    assert hook.titles[1:] == ["red: a replay waits for an answer: ad_ctr v2"]


def test_a_full_disk_is_told_though_nothing_can_be_remembered(
    watch: Watch, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("stack.alerts.memory.os.open", full)
    watch.see(60, replace(WELL, disk=Disk(1_000_000, 10_000_000_000)))
    assert hook.titles == ["red: the disk is nearly full"]


def test_a_driver_that_is_only_being_started_is_told_to_nobody(watch: Watch, hook: Receiver) -> None:
    """On a busy machine the first heartbeat of a deployment comes after more than the half minute that is red."""
    version = {"job": "ad_ctr", "version": 1, "serves": False, "desired": "running", "is_changing": True}
    watch.see(120, replace(RED, registry=Registry([version])))
    assert hook.titles == []
    watch.see(60, replace(RED, registry=Registry([{**version, "is_changing": False}])))
    assert len(hook.titles) == 1


def test_a_silent_driver_that_somebody_tries_to_start_is_not_over(watch: Watch, hook: Receiver) -> None:
    version = {"job": "ad_ctr", "version": 1, "serves": False, "desired": "running", "is_changing": False}
    watch.see(60, replace(RED, registry=Registry([version])))
    watch.see(120, replace(RED, registry=Registry([{**version, "is_changing": True}])))
    watch.see(60, replace(RED, registry=Registry([version])))
    assert hook.titles == ["red: no driver reports: ad_ctr v1"]
    watch.see(60, WELL)
    assert hook.titles[1:] == ["over: no driver reports: ad_ctr v1"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (SILENT, "Readers: None: nobody reads numbers of it."),
        ({**SILENT, "line": "failed", "what": "ad_ctr v1 failed: live v0 does not equal its replay: 1 row"},
         "Readers: Numbers that are served may be wrong."),
    ],
)  # fmt: skip
def test_of_a_version_that_does_not_serve_readers_need_not_know_but_of_a_refuted_proof(
    watch: Watch, hook: Receiver, line: dict[str, str], said: str
) -> None:
    version = {"job": "ad_ctr", "version": 1, "serves": False, "desired": "running", "is_changing": False}
    watch.see(60, replace(WELL, red=[line], registry=Registry([version])))
    assert said in hook.told[0]["message"]


def test_clocks_that_differ_are_told(watch: Watch, hook: Receiver) -> None:
    watch.see(60, replace(WELL, clock_ahead_seconds=29.0))
    assert hook.titles == []
    watch.see(60, replace(WELL, clock_ahead_seconds=-31.0))
    assert "What: the database's clock is 31 s behind the monitor's" in hook.told[0]["message"]


def test_an_append_time_in_the_future_is_told_and_a_stale_one_is_not(watch: Watch, hook: Receiver) -> None:
    for ahead in (None, -86_400.0, 29.0):
        watch.see(60, replace(WELL, registry=Registry(append_ahead_seconds=ahead)))
    assert hook.titles == []
    watch.see(60, replace(WELL, registry=Registry(append_ahead_seconds=3_600.0)))
    (told,) = hook.told
    assert told["title"] == "red: clocks differ"
    assert "What: the newest record that was read has an append_time 3600 s in the database's future" in told["message"]
    assert 'Runbook: docs/runbook.md, "The clocks of database, broker and monitor differ"' in told["message"]


def test_a_file_that_is_damaged_stops_nobody(watch: Watch, hook: Receiver) -> None:
    (watch.settings.home / "alerts" / "incidents.json").write_text("{")
    watch.start()
    watch.see(60, RED)
    assert len(hook.titles) == 1


def test_two_do_not_tell_of_one_installation(tmp_path: Path) -> None:
    file = MemoryFile(tmp_path)
    with file.held():
        assert file.is_held
        with pytest.raises(NotifierRuns), MemoryFile(tmp_path).held():
            pass
    assert not file.is_held


@pytest.mark.rig
def test_a_postgres_that_stands_still_is_told_and_that_it_is_back(
    parts: Layout, tmp_path: Path, hook: Receiver
) -> None:
    """The looks are real, the time between them is not."""
    MemoryFile(tmp_path).folder.mkdir()
    watch = Watch(tmp_path, hook)

    def seen() -> Look:
        return look(parts.settings, parts.checkout, 2.0)

    assert seen().red == []
    with standing_still(parts, postgres.NAME):
        begun = time.monotonic()
        away = seen()
        assert time.monotonic() - begun < 20
        assert (set(away.away), away.registry) == ({"postgres"}, None)
        watch.see(60, away)
    watch.see(60, seen())
    assert hook.titles == ["red: Postgres is away", "over: Postgres is away"]
    assert "no answer from 127.0.0.1" in hook.told[0]["message"]
    assert "Next: ./kappa up" in hook.told[0]["message"]
