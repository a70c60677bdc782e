"""A red line names the exception at the root first, and the records of the batch that failed."""

from __future__ import annotations

import pytest

from jobs.driver import root_cause

WORKER = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/x/decode.py", line 22, in bad
    raise ValueError("Exceeds the limit")
ValueError: Exceeds the limit (4300 digits) for integer string conversion
"""
PROXY = f"""[STREAM_FAILED] Query [id = cd29, runId = 82c0] terminated with exception: [FOREACH_BATCH_USER_ERROR]
Reason: An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File "/x/clientserver.py", line 644, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
pyspark.errors.exceptions.captured.PythonException: {WORKER} SQLSTATE: 39000 SQLSTATE: XXKST
=== Streaming Query ===
Identifier: [id = cd29]
Caused by: nothing of this
"""
SOURCE = """[STREAM_FAILED] Query [id = a] terminated with exception: Set(ad_events-0) are gone. SQLSTATE: XXKST
=== Streaming Query ==="""
JAVA = """Job aborted.
Caused by: org.apache.spark.SparkException: outer
\tat x.y(Z.java)
Caused by: java.io.IOException: No space left on device
\tat x.y(Z.java)
"""


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (RuntimeError(WORKER), "ValueError: Exceeds the limit (4300 digits) for integer string conversion"),
        (RuntimeError(PROXY), "ValueError: Exceeds the limit (4300 digits) for integer string conversion"),
        (RuntimeError(SOURCE), "Set(ad_events-0) are gone."),
        (RuntimeError(JAVA), "java.io.IOException: No space left on device"),
        (KeyError("client_id"), "KeyError: 'client_id'"),
    ],
)
def test_the_root_comes_out_of_its_wrappers(error: Exception, cause: str) -> None:
    assert root_cause.of(error) == cause


def test_what_an_exception_was_raised_from_is_the_root() -> None:
    error = RuntimeError("the query failed")
    error.__cause__ = OSError("disk full")
    assert root_cause.of(error) == "OSError: disk full"


def test_the_line_names_the_offsets_of_the_batch_that_failed_and_is_cut_at_its_end() -> None:
    said = root_cause.sentence("ValueError: x", 3, 17, "ad_events", {0: 5, 1: 9, 2: 4}, {0: 8, 1: 9, 2: 5})
    assert said == (
        "ValueError: x - batch 17 of topic ad_events: partition 0 offsets 5 to 7, partition 2 offsets 4 to 4; "
        "the query ended 3 times in a row without a commit"
    )
    long = root_cause.of(ValueError("y" * 5000))
    assert long.startswith("ValueError: yyy")
    assert len(long) == root_cause.MOST_CAUSE


def test_a_failure_before_any_batch_is_said_without_offsets() -> None:
    assert root_cause.sentence("OSError: x", 1, None, "t", {0: 1}, {}) == (
        "OSError: x - the query ended once without a commit"
    )
