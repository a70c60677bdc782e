"""Runs one driver with a local Spark master, for a bench; it can be told to leave out one of its safeguards.

All its batches evict. A driver's usual batch does not, and counts what comes behind the watermark, too (decision 0017):
it would hide what a safeguard is there to prevent.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack

from jobs import run
from jobs.transforms import windows
from tests.rigs.safeguards import SAFEGUARDS

EVICTS_ALWAYS = "spark.watermarkDelayMs"
"""What Spark itself marks a watermarked column by: windows that bear it are evicted in every batch."""
OF_A_DRIVER = [name for name, safeguard in SAFEGUARDS.items() if safeguard.place.startswith("jobs.")]


def evict_always() -> None:
    """Have each query of this process evict, in each of its batches."""
    vars(windows)["MARK"] = EVICTS_ALWAYS


def main() -> int:
    """The driver's own arguments after `--`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without", action="append", default=[], choices=OF_A_DRIVER)
    parser.add_argument("driver", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    evict_always()
    sys.argv = ["run.py", *(word for word in arguments.driver if word != "--")]
    with ExitStack() as taken:
        for safeguard in arguments.without:
            taken.enter_context(SAFEGUARDS[safeguard].taken_away())
        return run.main()


if __name__ == "__main__":
    sys.exit(main())
