"""`explain`: which number is asked for, what people and machines are told of it, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner, Result

from cli import entry, explain_output, output
from cli.commands import explain
from cli.commands.explain import InvalidQuestion, asked
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from oracle.compare import Difference
from oracle.explain import Examined, Fated, Number, Part
from oracle.fates import Row, Rules
from oracle.lineage import Batch, Behind, Lineage, Origin

NOON = 1_700_049_600_000
AT = datetime(2023, 11, 15, 12, 5, tzinfo=UTC)
NUMBER = Number("ad_ctr", "c1", "a1", NOON)
SERVED = {
    "impressions": 1, "clicks": 0, "spend_micros": 1_500_000, "duplicates": 1, "repeated_clicks": 0, "ctr": Decimal(0),
    "is_final": True,
}  # fmt: skip
VERSION = {
    "version": 2, "state": "LIVE", "artifact": "ab12", "state_digest": "s1", "result_digest": "r1", "topic": "ads",
    "generation": 1, "start_offsets": {"0": 0}, "starts_at": None, "created_at": AT,
    "settings": {"allowed_lateness_ms": 7_200_000, "click_interval_ms": 30_000, "cadence_ms": 500},
}  # fmt: skip
RELEASE = {
    "release_id": 7, "promoted_at": AT, "promoted_by": "ada", "approved_by": "bob",
    "evidence": {"validation": {"success": True, "compared_rows": 1234}},
}  # fmt: skip
FIRST = Fated(2, 0, 5, NOON + 1_234, NOON, "impression", 1_500_000, "counted")
RECORDS = (FIRST, replace(FIRST, offset=6, append_time=NOON + 2_000, fate="duplicate", first=5))
BATCH = Batch(1, 41, 3, AT, {0: (5, 9), 1: (2, 2)})
WORDS = ("explain", "ad_ctr", "--client", "c1", "--ad", "a1", "--minute", "2023-11-15T12:00")


def _told(differences: tuple[Difference, ...] = (), **more: Any) -> Lineage:
    part = Part(2, Rules(7_200_000, 300_000, 30_000, None), {0: 0}, {0: 9}, frozenset({NOON}))
    examined = Examined(RECORDS, Row(1, 0, 1_500_000, 1, 0), 9, {0: (0, 9)})
    origin = Origin(Behind(part, VERSION, more.get("release", RELEASE)), examined, (BATCH,), ())
    return Lineage(NUMBER, SERVED, examined.row, (origin,), differences)


def _run(monkeypatch: pytest.MonkeyPatch, told: Lineage, *words: str) -> Result:
    """The command over a lineage, its questions kept from the stack."""
    numbers: list[Number] = []

    def traced(_: Settings, number: Number) -> Lineage:
        numbers.append(number)
        return told

    monkeypatch.setattr(explain, "_traced", traced)
    app = typer.Typer()
    app.callback()(lambda: None)
    explain.register(app)
    result = CliRunner().invoke(app, [*WORDS, *words])
    assert numbers == [NUMBER]
    return result


@pytest.mark.usefixtures("home")
def test_machines_get_all_that_stands_behind_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _run(monkeypatch, _told(), "--json")
    told = json.loads(result.stdout)
    assert result.exit_code == 0
    assert told["served"]["spend_micros"] == told["recomputed"]["spend_micros"] == 1_500_000
    assert (told["matches"], told["minute"], told["day"]) == (True, "2023-11-15T12:00:00+00:00", None)
    (made,) = told["made_by"]
    assert (made["version"], made["artifact"], made["release"]["release_id"]) == (2, "ab12", 7)
    assert made["result_settings"] == {"allowed_lateness_ms": 7_200_000, "click_interval_ms": 30_000}
    assert made["batches"][0]["offsets"]["0"] == [5, 9]
    assert [(each["offset"], each["fate"], each["first"]) for each in told["records"]] == [
        (5, "counted", None), (6, "duplicate", 5),
    ]  # fmt: skip
    assert told["records"][0]["append_time"] == "2023-11-15T12:00:01.234+00:00"


@pytest.mark.usefixtures("home")
def test_a_number_that_the_log_does_not_add_up_to_ends_with_exit_1_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Difference("ad_ctr", NUMBER.view, NUMBER.key, "spend_micros", 1_500_000, 1_500_001)
    result = _run(monkeypatch, _told((wrong,)), "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["matches"] is False
    assert "spend_micros must be 1500000, is 1500001" in result.stderr


def _shown(told: Lineage, most: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setattr(output, "out", Console(highlight=False, width=output.WIDE))
    explain_output.show(told, entry.settings(), most)
    return capsys.readouterr().out


@pytest.mark.usefixtures("home")
def test_people_read_who_made_the_number_and_of_what(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = _shown(_told(), 50, monkeypatch, capsys)
    for words in (
        "7 of 2023-11-15 12:05:00 by ada, approved by bob", "passed, 1,234 rows compared", "v2, LIVE", "ab12",
        "allowed_lateness_ms=7200000 click_interval_ms=30000", "g1 41", "0:5-8", "duplicate", "offset 5", "1.500000",
        "equal: the 1 counted records add up to what is served, 1,500,000 micros",
    ):  # fmt: skip
        assert words in text
    assert "cadence_ms" not in text
    assert "1:2" not in text, "a batch shows the partitions of which it read something"


@pytest.mark.usefixtures("home")
def test_of_old_batches_the_first_and_the_last_of_their_hour_are_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for last, words in ((1_706, "g1 41-1706 "), (41, "g1 41 ")):
        told = _told()
        origin = replace(told.origins[0], batches=(replace(BATCH, last_batch_id=last),))
        assert words in _shown(replace(told, origins=(origin,)), 1, monkeypatch, capsys)


@pytest.mark.usefixtures("home")
def test_so_many_records_are_listed_as_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = _shown(_told(), 1, monkeypatch, capsys)
    assert "offset 5" not in text
    assert "and 1 more records" in text


@pytest.mark.usefixtures("home")
def test_a_difference_is_the_last_word_on_the_screen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = Difference("ad_ctr", NUMBER.view, NUMBER.key, "spend_micros", 1, 2)
    assert _shown(_told((wrong,)), 0, monkeypatch, capsys).splitlines()[-1].startswith("NOT EQUAL: 1 difference")


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        ({"first_deployment": True}, "none: a first deployment"),
        ({}, "none in the release"),
        ({"validation": {"success": False}}, "NOT passed"),
        ({"validation": "report.html"}, "report.html"),
    ],
)
@pytest.mark.usefixtures("home")
def test_the_validation_is_what_the_release_says(evidence: Mapping[str, Any], words: str) -> None:
    told = _told(release={**RELEASE, "evidence": evidence})
    facts = dict(explain_output.facts("ad_ctr", told.origins[0], entry.settings()))
    assert facts["validation"].startswith(words)


@pytest.mark.usefixtures("home")
def test_a_version_without_a_release_is_said_to_have_none() -> None:
    told = _told(release=None)
    facts = dict(explain_output.facts("ad_ctr", told.origins[0], entry.settings()))
    assert facts["release"] == "none that names it"


@pytest.mark.parametrize(
    ("given", "number"),
    [
        (("ad_ctr", "c1", "a1", "2023-11-15T12:00", None), NUMBER),
        (("ad_ctr", "c1", "a1", "2023-11-15T12:00:59.9Z", None), NUMBER),
        (("ad_ctr", "c1", "a1", "2023-11-15T17:30+05:30", None), NUMBER),
        (("client_spend", "c1", None, None, "2023-11-15"), Number("client_spend", "c1", day=date(2023, 11, 15))),
    ],
)
def test_a_number_is_named_by_its_key(
    given: tuple[str, str, str | None, str | None, str | None], number: Number
) -> None:
    assert asked(*given) == number


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (("quarantine", "c1", None, None, None), "numbers of ad_ctr and client_spend"),
        (("ad_ctr", "c1", None, "2023-11-15T12:00", None), "--ad: ad_ctr needs it"),
        (("ad_ctr", "c1", "a1", None, None), "--minute: ad_ctr needs it"),
        (("ad_ctr", "c1", "a1", "2023-11-15T12:00", "2023-11-15"), "--day: ad_ctr has no such key"),
        (("client_spend", "c1", None, None, None), "--day: client_spend needs it"),
        (("client_spend", "c1", "a1", None, "2023-11-15"), "--ad: client_spend has no such key"),
        (("ad_ctr", "c 1", "a1", "2023-11-15T12:00", None), "an id is 1 to 64"),
        (("ad_ctr", "c1", "a1", "noon", None), "--minute noon"),
        (("ad_ctr", "c1", "a1", "0001-01-01T00:00+14:00", None), "between"),
        (("client_spend", "c1", None, None, "2023-02-30"), "no such date"),
        (("client_spend", "c1", None, None, "20230230"), "give a date"),
        (("client_spend", "c1", None, None, "0001-01-01"), "between"),
    ],
)
def test_what_names_no_number_is_refused(given: tuple[str, str, str | None, str | None, str | None], rule: str) -> None:
    with pytest.raises(InvalidQuestion, match=rule):
        asked(*given)


@pytest.mark.usefixtures("home")
def test_without_a_stack_the_remedy_is_named() -> None:
    app = typer.Typer()
    app.callback()(lambda: None)
    explain.register(app)
    refusal = CliRunner().invoke(app, list(WORDS)).exception
    assert isinstance(refusal, Refusal)
    assert "./kappa status" in str(refusal)
