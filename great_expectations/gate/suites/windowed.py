"""The expectations that every table of windows has; the suites of the served tables are made of them."""

from __future__ import annotations

from collections.abc import Iterator

import great_expectations.expectations as gxe
from great_expectations.expectations.row_conditions import Column, Condition

from gate import accounting, parity
from gate.suites.expecting import BLOCK, WARN, named, no_rows
from kappa.core.validation import Parity, Request, Subject


def expectations(request: Request, subject: Subject) -> list[gxe.Expectation]:
    """What a candidate of any job with windows must show; of a version that serves, what it can show by itself."""
    compared = [] if subject.served else comparison(request, subject)
    return [*shape(subject), *rules(subject), *compared]


def looked_at(subject: Subject) -> Condition | None:
    """Which rows are looked at one by one, for a ready-made expectation; None: all."""
    if subject.served is None:
        return None
    first, last = (moment.isoformat() for moment in (subject.served.since, subject.served.until - subject.window))
    return (Column("window_start") >= first) & (Column("window_start") <= last)


def shape(subject: Subject) -> list[gxe.Expectation]:
    """Each row by itself: keys unique, nothing null, nothing negative, no more counted than seen, money within the
    contract, windows where they belong. What serves may have no rows, since nobody need send any."""
    rows = looked_at(subject)
    some = [named("rows_present", gxe.ExpectTableRowCountToBeBetween, "the candidate has rows", min_value=1)]
    keys = [*subject.keys, "window_start"]
    return [
        named(
            "keys_unique", gxe.ExpectCompoundColumnsToBeUnique, "a key has one row", row_condition=rows,
            column_list=keys,
        ),
        *([] if subject.served else some),
        *(
            named(
                f"{column}_not_null", gxe.ExpectColumnValuesToNotBeNull, f"{column} is known", row_condition=rows,
                column=column,
            )
            for column in (*keys, *subject.measures)
        ),
        *(
            named(
                f"{measure}_not_negative",
                gxe.ExpectColumnValuesToBeBetween,
                f"{measure} is not negative",
                row_condition=rows,
                column=measure,
                min_value=0,
            )
            for measure in subject.measures
        ),
        *_covered(subject, rows),
    ]  # fmt: skip


def _covered(subject: Subject, rows: Condition | None) -> Iterator[gxe.Expectation]:
    """Of each measure that is also kept of all that was seen, resent events with it: no more was counted than seen."""
    for measure in (m for m in subject.measures if f"seen_{m}" in subject.measures):
        yield named(
            f"{measure}_seen",
            gxe.ExpectColumnPairValuesAToBeGreaterThanB,
            f"no more {measure} were counted than seen",
            row_condition=rows,
            column_A=f"seen_{measure}",
            column_B=measure,
            or_equal=True,
        )


def rules(subject: Subject) -> list[gxe.Expectation]:
    """What rows and books must show together."""
    most = f", where there are {accounting.MOST_ROWS_SUMMED:,} rows at most" if subject.served else ""
    return [
        no_rows(
            "spend_bounds",
            "no event costs more than 10^12 micros (contract, section 1)",
            accounting.unaffordable(subject),
        ),
        no_rows("windows_in_place", "windows start at an edge, none before T", accounting.misplaced(subject)),
        no_rows("rows_match_books", f"rows and batches agree in events and money{most}", accounting.unbooked(subject)),
        *books(subject),
    ]


def books(subject: Subject) -> list[gxe.Expectation]:
    """What holds of every version's accounting, whatever its table holds; and of every candidate that is to serve."""
    accounts = [
        no_rows("conservation", "every record read has one fate, per batch", accounting.residual(subject)),
        no_rows("nothing_skipped", "every record since the start was read", accounting.unread(subject)),
    ]
    if subject.served:
        return accounts
    return [
        *accounts,
        no_rows("not_over", "the candidate has neither failed nor been retired", accounting.over(subject)),
        no_rows(
            "freshness",
            f"the candidate is complete to within {accounting.BEHIND_SECONDS} s of the live version",
            accounting.behind(subject),
            WARN,
        ),
    ]


def comparison(request: Request, subject: Subject) -> list[gxe.Expectation]:
    """Candidate against live, on the windows that are final in both and not before T."""
    exact, reported = request.parity is Parity.EXACT, request.parity is Parity.REPORT
    says = {
        Parity.EXACT: "candidate and live are equal in every measure",
        Parity.DECLARED: "measures differ within their bands only, all others are equal",
        Parity.REPORT: "differences are listed only",
    }
    return [
        no_rows("something_compared", "there is something to compare", parity.nothing_compared(subject)),
        no_rows(
            "row_count", "candidate and live have as many rows", parity.counts_differ(subject), BLOCK if exact else WARN
        ),
        no_rows("parity", says[request.parity], parity.differing(request, subject), WARN if reported else BLOCK),
    ]
