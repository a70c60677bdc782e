"""What `reconcile` prints of a verdict: differences, and what could not be compared, which is no difference."""

from __future__ import annotations

import json

import pytest

from cli.commands.reconcile import _tell
from tests.oracle.served_jobs import ad_ctr, client_spend, verdict


def test_what_was_not_compared_is_said_beside_the_differences(capsys: pytest.CaptureFixture[str]) -> None:
    _tell(verdict(ad_ctr(), client_spend(spend_micros=9), first=3), 20, as_json=False)
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if line.startswith("not compared: ad_ctr v1: retention has removed records")]
    assert [line for line in printed if line.startswith("ad_ctr and client_spend spend per client")]
    assert printed[-1] == "1 differences"


def test_the_json_has_it_by_job_and_between_jobs(capsys: pytest.CaptureFixture[str]) -> None:
    _tell(verdict(ad_ctr(), first=3), 20, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["difference_count"] == 0
    assert told["jobs"][0]["uncompared"][0].startswith("ad_ctr v1: retention")
    assert told["across_uncompared"] == []
