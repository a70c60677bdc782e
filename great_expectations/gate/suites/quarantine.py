"""The suite of the table `quarantine`: the records that were refused, which may be none."""

from __future__ import annotations

import great_expectations.expectations as gxe

from gate import refused
from gate.suites import windowed
from gate.suites.expecting import BLOCK, WARN, named, no_rows
from kappa.core.validation import Parity, Request, Subject

KEY = ["partition", "offset"]
KEPT = ["dead_letter", "future", "late"]


def expectations(request: Request, subject: Subject) -> list[gxe.Expectation]:
    """What a candidate of `quarantine` must show. Bands are of measures, which it has none of: only `exact` blocks.
    Of what serves these are its books, which are not longer where much was refused."""
    if subject.served:
        return windowed.books(subject)
    exact = request.parity is Parity.EXACT
    return [
        named("keys_unique", gxe.ExpectCompoundColumnsToBeUnique, "a record is kept once", column_list=KEY),
        named("fate_known", gxe.ExpectColumnValuesToBeInSet, "only refused records", column="fate", value_set=KEPT),
        *windowed.books(subject),
        no_rows("something_compared", "there is something to compare", refused.nothing_compared(subject)),
        no_rows(
            "parity",
            "the same records are refused, for the same reason",
            refused.differing(subject),
            BLOCK if exact else WARN,
        ),
    ]
