"""Settings are typed, named in errors, and never guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from kappa.core import job_catalog
from kappa.core.installation.layers import InvalidSetting, UnknownSetting
from kappa.core.installation.settings import from_environment, load
from kappa.core.job_catalog import Effect, JobSettingOutOfRange, UnknownJob, UnknownJobSetting, find, resolve


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    assert load(tmp_path / ".kappa").ports.kafka == 19092


def test_a_file_beside_the_state_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "kappa.toml").write_text('[ports]\nkafka = 5\n[topic]\nname = "t"')
    settings = load(tmp_path / ".kappa")
    assert (settings.ports.kafka, settings.topic.name) == (5, "t")
    assert settings.kafka_server.bootstrap == "127.0.0.1:5"


@pytest.mark.parametrize(
    ("text", "error", "named"),
    [
        ("[ports]\nkafak = 5", UnknownSetting, "ports.kafak"),
        ("home = 'x'", UnknownSetting, "home"),
        ("[prots]\nkafka = 5", UnknownSetting, "prots"),
        ("[ports]\nkafka = 'x'", InvalidSetting, "ports.kafka"),
        ("[ports]\nkafka = true", InvalidSetting, "ports.kafka"),
        ("ports = 5", InvalidSetting, "ports"),
        ("[ports", InvalidSetting, "cannot be read"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, text: str, error: type[Exception], named: str) -> None:
    (tmp_path / "kappa.toml").write_text(text)
    with pytest.raises(error, match=named):
        load(tmp_path / ".kappa")


def test_the_state_folder_comes_from_the_environment_or_is_in_the_checkout(tmp_path: Path) -> None:
    assert from_environment(tmp_path, {}).home == tmp_path / ".kappa"
    assert from_environment(tmp_path, {"KAPPA_HOME": "/x/y"}).home == Path("/x/y")


def test_a_connection_string_names_a_password_file_and_no_password(tmp_path: Path) -> None:
    assert "passfile=" in load(tmp_path).dsn("kappa_reader")
    assert "password" not in load(tmp_path).dsn("kappa_reader")


def test_job_settings_are_resolved_over_the_defaults() -> None:
    assert resolve(find("ad_ctr"), {"click_interval_ms": "30000"})["click_interval_ms"] == 30_000
    assert resolve(find("ad_ctr"), {})["allowed_lateness_ms"] == 7_200_000


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"nonsense": 1}, UnknownJobSetting),
        ({"click_interval_ms": 7_000}, JobSettingOutOfRange),
        ({"click_interval_ms": "x"}, JobSettingOutOfRange),
        ({"records_per_batch": 0}, JobSettingOutOfRange),
    ],
)
def test_a_wrong_job_setting_is_refused(given: dict[str, int | str], error: type[Exception]) -> None:
    with pytest.raises(error):
        resolve(find("ad_ctr"), given)


def test_an_unknown_job_is_named_with_those_there_are() -> None:
    with pytest.raises(UnknownJob, match="ad_ctr"):
        find("ad_ctrl")


def test_every_setting_says_whether_it_can_change_a_number() -> None:
    tuning = {s.name for job in job_catalog.JOBS.values() for s in job.settings if s.effect is Effect.TUNING}
    assert "click_interval_ms" not in tuning
    assert "cadence_ms" in tuning
