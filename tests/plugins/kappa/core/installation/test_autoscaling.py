"""The policy of autoscaling: what it is by default, and which values are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from kappa.core.installation.autoscaling import Autoscaling, WrongAutoscaling
from kappa.core.installation.settings import load


def test_it_is_off_by_default_and_its_defaults_are_allowed() -> None:
    assert Autoscaling().enabled is False
    Autoscaling().check()


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('hours = "6-20"', "autoscaling.hours is '6-20'"),
        ("cool_down_minutes = 9", "must be 10 at least"),
        ("least_cores = 5", "autoscaling.least_cores is 5, but must lie between 0 and most_cores"),
        ("most_executors = -1", "autoscaling.least_executors is 0"),
    ],
)
def test_a_value_that_means_nothing_is_refused_when_settings_are_read(tmp_path: Path, line: str, what: str) -> None:
    (tmp_path / "kappa.toml").write_text(f"[autoscaling]\nenabled = true\n{line}\n")
    with pytest.raises(WrongAutoscaling, match=what):
        load(tmp_path / "state", {})
