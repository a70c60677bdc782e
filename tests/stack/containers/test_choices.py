"""What a person writes in `.env` is taken, or refused with the variable's name before anything is made."""

from __future__ import annotations

import pytest

from stack.containers import prepare
from stack.containers.names import Chosen, InvalidChoice, ProfilesDiffer, chosen


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("KAPPA_BROKERS", "two"),
        ("KAPPA_BROKERS", "2"),
        ("KAPPA_BROKERS", "4"),
        ("KAPPA_PARTITIONS", "0"),
        ("KAPPA_RETENTION_HOURS", "-1"),
        ("KAPPA_S3", "true"),
        ("KAPPA_POSTGRES_PORT", "65536"),
        ("KAPPA_KAFKA_2_PORT", "x"),
    ],
)
def test_what_a_variable_may_not_say_is_refused(
    variable: str, text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InvalidChoice, match=rf"^{variable}={text} in .env: it must be .*Nothing was made"):
        chosen({variable: text})
    monkeypatch.setenv(variable, text)
    assert prepare.main("secrets") == 1
    assert f"error: {variable}={text}" in capsys.readouterr().err


def test_what_they_may_say_is_taken() -> None:
    told = {"KAPPA_BROKERS": "3", "KAPPA_S3": "1", "KAPPA_KAFKA_2_PORT": "2", "KAPPA_ALERT_TARGETS": "a,b"}
    told["COMPOSE_PROFILES"] = "three-brokers,s3"
    expected = Chosen(brokers=3, s3=True, kafka_ports=(29092, 2, 29094), alert_targets=("a", "b"))
    assert chosen({**told, "KAPPA_PARTITIONS": ""}) == expected


@pytest.mark.parametrize(
    ("variable", "value", "profiles", "remedy"),
    [
        ("KAPPA_BROKERS", "3", "", "COMPOSE_PROFILES=three-brokers, or KAPPA_BROKERS=1"),
        ("KAPPA_BROKERS", "3", "s3", "COMPOSE_PROFILES=s3,three-brokers, or KAPPA_BROKERS=1"),
        ("KAPPA_BROKERS", "1", "three-brokers", "COMPOSE_PROFILES=, or KAPPA_BROKERS=3"),
        ("KAPPA_S3", "1", "", "COMPOSE_PROFILES=s3, or KAPPA_S3=0"),
        ("KAPPA_S3", "0", "s3, other", "COMPOSE_PROFILES=other, or KAPPA_S3=1"),
    ],
)
def test_parts_that_no_profile_starts_or_nobody_is_told_of_are_refused(
    variable: str,
    value: str,
    profiles: str,
    remedy: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = {"KAPPA_S3": "1" if profiles == "s3" else "0", variable: value, "COMPOSE_PROFILES": profiles}
    with pytest.raises(ProfilesDiffer) as refused:
        chosen(told)
    assert str(refused.value).startswith(f"{variable}={value} and COMPOSE_PROFILES={profiles} in .env: ")
    assert f"Nothing was made. Write {remedy}, then " in str(refused.value)
    for name, text in told.items():
        monkeypatch.setenv(name, text)
    assert prepare.main("secrets") == 1
    assert f"error: {variable}={value} and " in capsys.readouterr().err


@pytest.mark.parametrize("profiles", ["three-brokers", "monitoring , three-brokers"])
def test_a_profile_that_starts_what_was_chosen_is_taken(profiles: str) -> None:
    assert chosen({"KAPPA_BROKERS": "3", "COMPOSE_PROFILES": profiles}).brokers == 3
    assert chosen({"KAPPA_BROKERS": "3", "KAPPA_S3": "1", "COMPOSE_PROFILES": "*"}).s3, "all of them"
