"""What a validation is told, how its outcome is read, and that whatever goes wrong is an outcome."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import make_url

from kappa.core.environment import OWN_CODE
from kappa.core.installation.settings import Settings
from kappa.core.replays import Approval, Replay, Standing
from kappa.core.validation import Band, Direction, Parity, Subject
from kappa.verbs.replay import validation as step
from kappa.verbs.replay.approval_text import validated
from kappa.verbs.replay.validation import Ended, database, read_outcome, request, subject, validate
from tests.plugins.conftest import Stage
from tests.plugins.registries import BY, version

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
REPLAY = Replay(
    replay_id=UUID(int=7), run_id="run", versions={"ad_ctr": 2}, live={"ad_ctr": 1}, starts_ms=None,
    parity=Parity.DECLARED, bands=(Band("clicks", Direction.DOWN, None),), approval=Approval.ASK, promote=True,
    asked_by="ann", reason="why",
)  # fmt: skip
OUTCOME: dict[str, Any] = {
    "success": True, "crashed": False, "compared_rows": 3, "results": [], "comparisons": [], "seconds": 1.0,
    "statistics": {"expectations": 2, "passed": 2, "blocking": 0, "warnings": 0},
}  # fmt: skip


def standing(through: datetime | None) -> Standing:
    return Standing({}, {}, through, None, 0, 0.0, 0, None)


def test_a_moment_is_told_to_the_microsecond_so_that_nothing_is_final_too_early() -> None:
    almost = NOON + timedelta(microseconds=999_999)
    told = subject(version("ad_ctr", 2), version("ad_ctr"), standing(almost), standing(None))
    read = Subject.from_json(json.loads(json.dumps(told.to_json())))
    assert (read.candidate_through, read.live_through, read.window) == (almost, None, told.window)


def test_the_database_is_named_by_its_password_file_and_cannot_be_written_to(tmp_path: Path) -> None:
    url = make_url(database(Settings(home=tmp_path / "a b's $HOME"), 90))
    assert url.password is None
    assert url.query["passfile"] == f"{tmp_path}/a b's $HOME/secrets/kappa_registry.pgpass"
    assert url.query["options"] == "-c search_path=data -c default_transaction_read_only=on -c statement_timeout=90000"


def test_the_input_holds_what_was_asked(tmp_path: Path) -> None:
    told = request(Settings(home=tmp_path), REPLAY, [], 90).to_json()
    assert (told["parity"], told["reason"], told["asked_by"]) == ("declared", "why", "ann")
    assert told["bands"] == [{"column": "clicks", "direction": "down", "most_permille": None}]


@pytest.mark.parametrize(
    ("code", "change", "success", "crashed"),
    [
        (0, {}, True, False),
        (1, {"success": False}, False, False),
        (1, {}, False, True),
        (0, {"success": False}, False, True),
        (3, {}, False, True),
        (-9, {"success": False}, False, True),
        (0, {"crashed": True}, False, True),
        (0, {"crashed": None}, False, True),
        (0, {"success": "yes"}, False, True),
        (0, {"compared_rows": 0}, False, False),
    ],
)
def test_only_an_output_that_agrees_with_the_exit_code_is_believed(
    code: int, change: dict[str, Any], success: bool, crashed: bool
) -> None:
    outcome = read_outcome(code, json.dumps(OUTCOME | change), "")
    assert (outcome["success"], outcome["crashed"]) == (success, crashed)


@pytest.mark.parametrize("output", [None, "", "{", "[]", "null", "{}"])
def test_an_output_that_is_missing_or_cannot_be_read_is_a_crash(output: str | None) -> None:
    outcome = read_outcome(0, output, "Traceback: x")
    assert (outcome["success"], outcome["crashed"]) == (False, True)
    assert "Its last words: Traceback: x" in outcome["problem"]


def test_a_crash_in_an_expectation_names_its_exception() -> None:
    held = OUTCOME | {"success": False, "crashed": True, "results": [{"problem": None}, {"problem": "no such column"}]}
    assert "no such column" in read_outcome(3, json.dumps(held), "")["problem"]


Run = Callable[[list[str], Path, float], Ended]


def program(text: str | None, code: int | None = 0) -> Run:
    """A program that writes so and ends so."""

    def run(command: list[str], folder: Path, seconds: float) -> Ended:
        if text is not None:
            Path(command[command.index("--output") + 1]).write_text(text)
        return Ended(code, "last words")

    return run


def asked(stage: Stage, run: Run) -> dict[str, Any]:
    for number in (1, 2):
        if number not in {v.version for v in stage.registry.versions("ad_ctr")}:
            stage.registry.stage(version("ad_ctr", number), BY, {})
    return dict(validate(stage.platform, REPLAY, lambda job, number: standing(NOON), 5, run))


def test_each_attempt_has_files_of_its_own(stage: Stage) -> None:
    first, second = (asked(stage, program(json.dumps(OUTCOME))) for _ in range(2))
    assert first["success"]
    assert first["folder"] != second["folder"]
    told = json.loads((stage.platform.settings.home / first["folder"] / "in.json").read_text())
    assert (told["subjects"][0]["candidate"], told["subjects"][0]["live"]) == (2, 1)


def test_the_files_are_named_below_the_state_folder_since_many_read_the_outcome(stage: Stage) -> None:
    outcome = asked(stage, program(json.dumps(OUTCOME)))
    assert Path(outcome["folder"]).parts[:2] == ("validations", str(REPLAY.replay_id))
    assert str(stage.platform.settings.home) not in json.dumps(outcome)


def test_no_output_is_a_crash(stage: Stage) -> None:
    assert asked(stage, program(None))["crashed"]


def test_a_program_that_takes_too_long_is_a_crash_even_if_it_wrote_an_output(stage: Stage) -> None:
    outcome = asked(stage, program(json.dumps(OUTCOME), None))
    assert (outcome["success"], outcome["crashed"]) == (False, True)
    assert "not done after 5 s" in outcome["problem"]


def test_a_program_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    ended = step.run_program(
        [sys.executable, "-c", "import sys, time; print('on', file=sys.stderr, flush=True); time.sleep(60)"],
        tmp_path,
        2,
    )
    assert ended == Ended(None, "on\n")


def test_the_program_gets_nothing_of_airflows_surroundings() -> None:
    given = {"PATH": "/bin", "PYTHONPATH": "/x", "AIRFLOW__CORE__FERNET_KEY": "secret"}
    assert step.surroundings(given) == {
        "PATH": "/bin", "PYTHONPATH": str(OWN_CODE / "plugins"), "GX_ANALYTICS_ENABLED": "false"
    }  # fmt: skip


def finding(**change: Any) -> dict[str, Any]:
    return {
        "suite": "ad_ctr_minute", "expectation": "parity", "says": "they are equal", "severity": "block",
        "success": False, "observed": "1 offending row", "rows": [], **change,
    }  # fmt: skip


def test_the_text_gives_the_verdict_first_and_what_blocks_before_what_warns() -> None:
    outcome = OUTCOME | {"success": False, "results": [finding(severity="warn", expectation="freshness"), finding()]}
    text = validated(outcome)
    assert text.startswith("**Validation failed.** 3 rows compared")
    assert text.index("`parity`") < text.index("`freshness`")


def test_the_text_shows_only_measures_that_differ_and_cannot_be_broken_out_of() -> None:
    row = {"client_id": "a|b<i>", "live_clicks": 1, "candidate_clicks": 2, "live_rows": 3, "candidate_rows": 3}
    text = validated(OUTCOME | {"results": [finding(rows=[row])]})
    assert "| client_id | live_clicks | candidate_clicks |" in text
    assert "| a\\|b&lt;i> | 1 | 2 |" in text


def test_the_text_shows_both_sides_of_a_measure_that_differs_in_any_of_the_rows() -> None:
    rows = [{"live_clicks": 5, "candidate_clicks": candidate} for candidate in (5, 6)]
    text = validated(OUTCOME | {"results": [finding(rows=rows)]})
    assert text.endswith("| live_clicks | candidate_clicks |\n| --- | --- |\n| 5 | 5 |\n| 5 | 6 |")


def test_the_text_of_a_crash_says_so() -> None:
    assert validated(read_outcome(1, None, "boom")).startswith("**Not validated.** The validation crashed")


def test_the_text_shows_the_totals_that_differ() -> None:
    figures = {"live_rows": 3, "candidate_rows": 3, "live_clicks": 1000, "candidate_clicks": 900}
    compared = {"job": "ad_ctr", "live": 1, "candidate": 2, "compared": 3, "figures": figures}
    text = validated(OUTCOME | {"comparisons": [compared]})
    assert "| clicks | 1,000 | 900 | -100 |" in text
    assert "| rows" not in text
