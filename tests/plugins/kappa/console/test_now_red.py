"""What *Now* says beside a red line: what it means for readers, where the runbook has it, what to type first."""

from __future__ import annotations

from typing import Any

import pytest

from kappa.console.now import explained
from kappa.status.causes import MEANINGS, Cause

NOBODY = "None: nobody reads numbers of it."


def line(cause: str, what: str = "why") -> dict[str, Any]:
    return {"what": what, "since": None, "runbook": "docs/runbook.md", "line": cause, "of": "ad_ctr v1"}


@pytest.mark.parametrize("cause", [Cause.QUERY, Cause.RETENTION, Cause.CONSERVATION])
def test_a_red_line_has_the_heading_of_its_entry_and_the_next_command(cause: Cause) -> None:
    told, meaning = explained(line(cause), serves=True, embedded=True), MEANINGS[cause]
    assert told["runbook"] == f'docs/runbook.md, "{meaning.runbook}"'
    assert (told["next"], told["readers"]) == (meaning.next.replace("{job}", "ad_ctr"), meaning.readers)
    assert explained(line(cause), serves=False, embedded=True)["readers"] == NOBODY


def test_a_proof_that_failed_is_told_as_that_and_not_as_a_version_that_gave_up() -> None:
    told = explained(line("failed", "ad_ctr v2 failed: live v1 does not equal its replay: 3 rows"), False, True)
    assert (told["next"], told["readers"]) == ("./kappa reconcile", MEANINGS[Cause.PROOF].readers)


def test_elsewhere_the_next_command_is_the_one_of_an_installation() -> None:
    assert explained(line("registry"), serves=True, embedded=True)["next"] == "./kappa up"
    assert explained(line("registry"), serves=True, embedded=False)["next"] == "./kappa db migrate"
