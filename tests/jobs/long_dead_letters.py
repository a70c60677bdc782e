"""A program: one batch of the quarantine with as many records as it may have, all of them dead letters with long keys
and values, in the memory that this process was given; prints its rows and bytes as JSON."""

from __future__ import annotations

import json
import sys

from jobs import session
from jobs.pipelines import quarantine
from jobs.pipelines.pipeline import Run
from kappa.core import job_catalog
from tests.jobs.records import dead_letters

JOB = job_catalog.find("quarantine")


def main(count: int, key_bytes: int, value_bytes: int) -> None:
    """The batch, as the sink takes it."""
    settings = job_catalog.resolve(JOB, {})
    spark = session.create("long-dead-letters", settings)
    records = dead_letters(spark, count, key_bytes, value_bytes)
    table = quarantine.build(records, Run(settings, None, (0,), 0)).toArrow()
    sizes = table["value_bytes"].unique().to_pylist()
    print(json.dumps({"rows": table.num_rows, "bytes": table.nbytes, "value_bytes": sizes}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
