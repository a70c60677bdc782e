"""Each column that is served or accounted for is compared: another value in one is a difference by its name."""

from __future__ import annotations

from dataclasses import fields, replace
from decimal import Decimal
from typing import Any

import pytest

from oracle.fates import FATES
from oracle.served import Served, ServedDay, ServedRow
from tests.oracle.served_jobs import ad_ctr, client_spend, verdict, version

MINUTE_COLUMNS, DAY_COLUMNS = ([field.name for field in fields(row)] for row in (ServedRow, ServedDay))
ACCOUNTED = ("read", *FATES, *(f"{fate}_micros" for fate in FATES if fate != "dead_letter"))
SAYS = r"assert '\w+' in "


def other(value: Any) -> Any:
    """A value that is told instead."""
    match value:
        case bool():
            return not value
        case int() | Decimal():
            return value + 1
        case None:
            return 1
        case _:
            return f"{value}?"


def told_otherwise(row: Any, column: str) -> Any:
    """The row with another value in that column."""
    return replace(row, **{column: other(getattr(row, column))})


def found(served: Served) -> list[str]:
    """The columns in which the oracle sees a difference."""
    return [difference.column for difference in verdict(served).differences]


@pytest.mark.red_without("oracle's column", SAYS, "{column}")
@pytest.mark.parametrize("column", MINUTE_COLUMNS)
def test_a_minute_that_tells_another_value_is_found(column: str) -> None:
    served = ad_ctr()
    assert served.minutes is not None
    assert column in found(replace(served, minutes={k: told_otherwise(r, column) for k, r in served.minutes.items()}))


@pytest.mark.red_without("oracle's column", SAYS, "{column}")
@pytest.mark.parametrize("column", DAY_COLUMNS)
def test_a_day_that_tells_another_value_is_found(column: str) -> None:
    served = client_spend()
    assert served.days is not None
    assert column in found(replace(served, days={key: told_otherwise(row, column) for key, row in served.days.items()}))


@pytest.mark.red_without("oracle's column", SAYS, "{column}")
@pytest.mark.parametrize("column", ACCOUNTED)
def test_an_account_that_tells_another_number_is_found(column: str) -> None:
    fate, is_money = column.removesuffix("_micros"), column.endswith("_micros")
    told = dict(version().micros if is_money else version().records)
    told[fate] += 1
    assert column in found(ad_ctr(version(micros=told) if is_money else version(records=told)))


@pytest.mark.red_without("oracle's column", r"assert 'sum of fates' in ", "sum of fates")
def test_fates_that_do_not_add_up_are_found() -> None:
    assert "sum of fates" in found(ad_ctr(version(records={**version().records, "counted": 5})))
