"""Which suite a table is held against."""

from __future__ import annotations

from dataclasses import replace

import pytest
from gate.running import suite_of
from gate.suites import ad_ctr_minute, windowed

from kappa.core.validation import BadRequest, read
from tests.great_expectations.gate.test_validation_request import ASKED

(AD_CTR,) = read(ASKED).subjects


def test_a_served_table_has_a_suite_of_its_own_and_a_new_one_of_windows_what_all_must_show() -> None:
    assert suite_of(AD_CTR) is ad_ctr_minute
    assert suite_of(replace(AD_CTR, table="slot_ctr_minute")) is windowed


def test_records_without_windows_and_without_a_suite_are_refused() -> None:
    with pytest.raises(BadRequest, match="'strays' has no suite"):
        suite_of(replace(AD_CTR, table="strays", measures=()))
