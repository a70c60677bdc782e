"""What the running batch of a query was seen to read."""

from __future__ import annotations

import json
from typing import Any

from jobs.transforms import tally
from jobs.transforms.fates import OBSERVATION, TALLIES
from jobs.transforms.tally import Observed


def of_running_batch(query: Any) -> Observed:
    """What the query's running batch observed; to be called once its one action is over.

    It reads the last execution of the JVM's query: no second pass over the data, no listener to wait for. Where a stage
    was run again, since an executor was lost with its output, its records are in it twice: see `ledger.CountedTwice`.
    """
    handle = query._jsq
    execution = handle.streamingQuery() if hasattr(handle, "streamingQuery") else handle
    found = execution.lastExecution().observedMetrics().iterator()
    while found.hasNext():
        entry = found.next()
        if entry._1() == OBSERVATION:
            return tally.of_texts(json.loads(entry._2().json()).get(TALLIES) or ())
    return Observed()
