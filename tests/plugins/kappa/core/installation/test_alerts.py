"""Settings of who is told: what is refused, and which moments are quiet."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from kappa.core.installation.addresses import PlainAddress
from kappa.core.installation.alerts import Alerts, WrongAlerts
from kappa.core.installation.settings import load


def at(text: str) -> datetime:
    """A moment in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("quiet", "zone", "moment", "until"),
    [
        ("22:00-07:00", "UTC", "2026-11-25T21:59", None),
        ("22:00-07:00", "UTC", "2026-11-25T22:00", "2026-11-26T07:00"),
        ("22:00-07:00", "UTC", "2026-11-26T06:59", "2026-11-26T07:00"),
        ("22:00-07:00", "UTC", "2026-11-26T07:00", None),
        ("12:00-13:00", "UTC", "2026-11-26T12:30", "2026-11-26T13:00"),
        ("12:00-13:00", "UTC", "2026-11-26T13:00", None),
        ("22:00-07:00", "Europe/Berlin", "2026-11-25T21:30", "2026-11-26T06:00"),
        ("22:00-07:00", "Europe/Berlin", "2026-03-28T23:00", "2026-03-29T05:00"),
        ("", "UTC", "2026-11-25T23:00", None),
    ],
    ids=["before", "begins", "next morning", "is over", "at noon", "noon is over", "by its zone", "spring", "none"],
)
def test_when_it_is_quiet_and_until_when(quiet: str, zone: str, moment: str, until: str | None) -> None:
    found = Alerts(quiet=quiet, time_zone=zone).quiet_until(at(moment))
    assert found == (None if until is None else at(until))


@pytest.mark.parametrize(
    "line",
    ['targets = ["Duty!"]', 'targets = ["../x"]', 'quiet = "22-7"', 'quiet = "24:00-07:00"', 'time_zone = "Berlin"'],
)
def test_what_means_nothing_is_refused_by_its_name(tmp_path: Path, line: str) -> None:
    (tmp_path / "kappa.toml").write_text(f"[alerts]\n{line}\n")
    with pytest.raises(WrongAlerts, match=rf"alerts\.{line.split()[0]} is "):
        load(tmp_path / "state", {})


@pytest.mark.parametrize("address", ["0.0.0.0", "", "10.1.2.3"])
def test_metrics_leave_this_machine_only_if_the_settings_say_so(tmp_path: Path, address: str) -> None:
    file = tmp_path / "kappa.toml"
    file.write_text(f'[metrics]\naddress = "{address}"\n')
    with pytest.raises(PlainAddress, match=r"metrics\.allow_plain = true"):
        load(tmp_path / "state", {})
    file.write_text(f'[metrics]\naddress = "{address}"\nallow_plain = true\n')
    assert load(tmp_path / "state", {}).metrics.address == address
