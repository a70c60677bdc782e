"""What a trial raises becomes its finding, and ends nothing else."""

from __future__ import annotations

import psycopg
import pytest

from cli.doctor.trial import START, Trial, carry_out
from kappa.core.installation.findings import Finding
from kappa.unavailable import Unreachable


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (psycopg.errors.InsufficientPrivilege("permission denied\nfor schema registry"),
         "permission denied for schema registry"),
        (psycopg.OperationalError("the connection is lost"), "the connection is lost"),
        (psycopg.InterfaceError(), "InterfaceError"),
        (OSError("no such file"), "no such file"),
    ],
)  # fmt: skip
def test_what_a_part_says_no_with_is_the_finding(error: Exception, said: str) -> None:
    def act() -> str:
        raise error

    assert carry_out(Trial("Postgres", "clock", act)).finding == Finding("Postgres: clock", said, "")


def test_a_part_that_does_not_answer_is_not_sent_to_doctor_again() -> None:
    def act() -> str:
        raise Unreachable("Kafka", "k1:9092", "Connection refused")

    said = "Kafka at k1:9092 does not answer (Connection refused)"
    assert carry_out(Trial("Kafka", "topic", act)).finding == Finding("Kafka: topic", said, START)
