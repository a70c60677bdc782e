"""The closed list of causes: each has its meaning, its entry in the runbook, and each red line has its cause."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from cli.main import application
from kappa.status.causes import MEANINGS, Cause
from stack.alerts.findings import cause_of

ROOT = Path(__file__).resolve().parents[4]
HEADINGS = re.findall(r"^#{2,3} (.*)$", (ROOT / "docs" / "runbook.md").read_text(), flags=re.MULTILINE)
CONTRACT = (ROOT / "docs" / "contract.md").read_text().split("## 8. ")[1]


def test_each_cause_has_a_meaning() -> None:
    assert set(MEANINGS) == set(Cause)


@pytest.mark.parametrize("cause", Cause)
def test_the_runbook_has_the_entry(cause: Cause) -> None:
    assert MEANINGS[cause].runbook in HEADINGS


@pytest.mark.parametrize("cause", Cause)
@pytest.mark.parametrize("embedded", [True, False])
def test_the_next_command_is_there(cause: Cause, embedded: bool) -> None:
    words = MEANINGS[cause].next_command("ad_ctr", embedded).split()
    assert words[0] == "./kappa"
    assert words[1] in typer.main.get_command(application()).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize("cause", [Cause.POSTGRES, Cause.KAFKA, Cause.REGISTRY])
def test_up_starts_only_what_is_embedded(cause: Cause) -> None:
    assert MEANINGS[cause].next_command("", embedded=True) == "./kappa up"
    assert MEANINGS[cause].next_command("", embedded=False) != "./kappa up"


def test_each_red_line_of_the_contract_has_a_cause() -> None:
    lines = re.findall(r"^\| `(\w+)` \|", CONTRACT, flags=re.MULTILINE)
    assert len(lines) > 10
    for line in lines:
        assert cause_of({"line": line, "of": "ad_ctr v1", "what": ""}) == Cause(line)


def test_each_red_line_of_the_stack_has_a_cause() -> None:
    told = {
        ("down", ""): Cause.DOWN,
        ("registry", "postgres"): Cause.REGISTRY,
        ("part", "postgres"): Cause.POSTGRES,
        ("process", "postgres"): Cause.POSTGRES,
        ("part", "kafka"): Cause.KAFKA,
        ("part", "supervisor"): Cause.SUPERVISOR,
        ("process", "spark-worker"): Cause.SPARK,
        ("process", "airflow-scheduler"): Cause.AIRFLOW,
        ("process", "monitor"): None,
    }
    assert {(line, of): cause_of({"line": line, "of": of, "what": ""}) for line, of in told} == told


def test_a_proof_that_failed_is_not_a_version_that_gave_up() -> None:
    said = "ad_ctr v4 failed: live v3 does not equal its replay: 1 row differs"
    assert cause_of({"line": "failed", "of": "ad_ctr v4", "what": said}) is Cause.PROOF
