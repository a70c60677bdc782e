"""What a trial raises becomes its finding, and ends nothing else."""

from __future__ import annotations

import psycopg
import pytest

from cli.doctor.trial import Trial, carry_out
from kappa.core.installation.findings import Finding


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
