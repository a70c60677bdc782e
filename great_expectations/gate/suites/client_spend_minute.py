"""The suite of the served table `client_spend_minute`: one row per client and minute, of which every day is a sum."""

from __future__ import annotations

import great_expectations.expectations as gxe

from gate.suites import windowed
from kappa.core.validation import Request, Subject


def expectations(request: Request, subject: Subject) -> list[gxe.Expectation]:
    """What a candidate of `client_spend` must show, or what serves of it."""
    return windowed.expectations(request, subject)
