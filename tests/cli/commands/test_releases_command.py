"""`releases`: a hand-over in words, with the offsets of the version that served and of the one that serves."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from cli.commands import releases
from kappa.core.job_catalog import UnknownJob
from kappa.core.refusals import Refusal

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
T = "2026-01-31 09:30:00+00"


def segment(version: int, begins: str = "-infinity", ends: str = "infinity") -> dict[str, Any]:
    return {"job": "ad_ctr", "version": version, "from_window": begins, "to_window": ends}


def release(**changed: Any) -> dict[str, Any]:
    """A release of ad_ctr v2 in place of v1 from T on."""
    made = {
        "release_id": 7, "jobs": ["ad_ctr"], "segments_before": [segment(1)],
        "segments_after": [segment(1, ends=T), segment(2, begins=T)],
        "offsets_before": {"ad_ctr": {"0": 1000, "1": 2000}},
        "offsets_after": {"ad_ctr": {"0": 1003, "1": 2000}}, "promoted_at": AT, "promoted_by": "admin",
        "approved_by": "operator", "evidence": {"hand_over_seconds": 0.42, "reason": "30 s"},
    }  # fmt: skip
    return {**made, **changed}


def test_a_hand_over_is_told_with_its_windows_offsets_and_length() -> None:
    assert releases.row(release()) == (
        "7", "2026-01-31 12:00:00", "admin", "operator",
        f"ad_ctr v1 -> v2: v1 from -infinity, v2 from {T}",
        "ad_ctr: 0: 1,000 -> 1,003, 1: 2,000 -> 2,000", "0.4 s", "30 s",
    )  # fmt: skip


def test_a_first_deployment_replaces_nothing() -> None:
    first = release(segments_before=[], segments_after=[segment(1)], offsets_before={}, approved_by=None, evidence={})
    told = releases.row(first)
    assert told[3:] == (None, "ad_ctr v1: all windows", "ad_ctr: 0: 1,003, 1: 2,000", None, None)


@pytest.mark.usefixtures("home")
def test_an_unknown_job_and_a_stack_that_is_down_are_named() -> None:
    app = typer.Typer()
    releases.register(app)
    assert isinstance(CliRunner().invoke(app, ["--job", "ad_crt"]).exception, UnknownJob)
    refusal = CliRunner().invoke(app, []).exception
    assert isinstance(refusal, Refusal)
    assert "./kappa up starts it" in str(refusal)
