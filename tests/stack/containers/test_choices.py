"""What a person writes in `.env` is taken, or refused with the variable's name before anything is made."""

from __future__ import annotations

import pytest

from stack.containers import prepare
from stack.containers.names import Chosen, InvalidChoice, chosen


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
    expected = Chosen(brokers=3, s3=True, kafka_ports=(29092, 2, 29094), alert_targets=("a", "b"))
    assert chosen({**told, "KAPPA_PARTITIONS": ""}) == expected
