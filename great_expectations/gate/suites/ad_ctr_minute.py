"""The suite of the served table `ad_ctr_minute`: one row per client, ad and minute."""

from __future__ import annotations

import great_expectations.expectations as gxe

from gate import accounting
from gate.suites import windowed
from gate.suites.expecting import no_rows
from kappa.core.validation import Request, Subject


def expectations(request: Request, subject: Subject) -> list[gxe.Expectation]:
    """What a candidate of `ad_ctr` must show; beside one of `client_spend`, that both bill each client the same. The
    same of what serves."""
    clients = request.subject("client_spend")
    same = (
        [
            no_rows(
                "spend_of_both_jobs",
                "ad_ctr and client_spend hold the same events and spend per client and minute",
                accounting.unequal(subject, clients),
            )
        ]
        if clients
        else []
    )
    return [*windowed.expectations(request, subject), *same]
