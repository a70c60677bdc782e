"""Runs one driver with a local Spark master, for a bench; it can be told to leave out one of its safeguards.

All its queries evict. A driver's usual query does not, and counts what comes behind the watermark, too (decision 0017):
it would hide what a safeguard is there to prevent.
"""

from __future__ import annotations

import argparse
import sys

from jobs import query, reach, run
from jobs.log import Log, Offsets

SAFEGUARDS = ("skew", "guard")
"""`skew`: the part of the watermark's delay that the log's unevenness asks for; `guard`: the look one batch ahead."""


def leave_out(safeguard: str) -> None:
    """Take a safeguard out of this process."""
    if safeguard == "skew":
        vars(reach)["read_skew_ms"] = _no_skew
    if safeguard == "guard":
        vars(reach)["check_watermark"] = _no_guard


def evict_always() -> None:
    """Have each query of this process evict, in each of its batches."""
    run_of = query.run_of
    vars(query)["run_of"] = lambda *given, evicting=True: run_of(*given, evicting=True)


def main() -> int:
    """The driver's own arguments after `--`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without", action="append", default=[], choices=SAFEGUARDS)
    parser.add_argument("driver", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    evict_always()
    for safeguard in arguments.without:
        leave_out(safeguard)
    sys.argv = ["run.py", *(word for word in arguments.driver if word != "--")]
    return run.main()


def _no_skew(_log: Log, _start: Offsets) -> int:
    return 0


def _no_guard(*_: object) -> None:
    return


if __name__ == "__main__":
    sys.exit(main())
