"""How long a transaction may take, by its rows and by the time-outs that it met."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import postgres as transactions
from kappa.core import job_catalog


@pytest.mark.parametrize("name", job_catalog.JOBS)
def test_the_largest_batch_that_may_be_set_fits_into_the_longest_time(name: str) -> None:
    job = job_catalog.find(name)
    most = next(s.most for s in job.settings if s.name == "records_per_batch")
    assert transactions.seconds_for(most, 0) <= transactions.LONGEST_SECONDS / 2, "it may time out once, and fit then"
    with pytest.raises(job_catalog.JobSettingOutOfRange):
        job_catalog.resolve(job, {"records_per_batch": most + 1})


@given(rows=st.integers(0, 10**7), timed_out=st.integers(0, 60))
def test_the_time_never_shrinks_with_rows_or_time_outs(rows: int, timed_out: int) -> None:
    seconds = transactions.seconds_for(rows, timed_out)
    assert seconds >= transactions.BASE_SECONDS
    assert seconds <= transactions.seconds_for(rows + 1, timed_out)
    assert seconds <= transactions.seconds_for(rows, timed_out + 1)
    assert rows / transactions.seconds_for(rows, 0) <= transactions.ROWS_PER_BASE / transactions.BASE_SECONDS
