"""The refusals of a replay, word for word, each caused from outside on a running stack.

Command: python -m tests.faults.replay_refusals [--only log_too_short,no_free_cores] [--json]

`no_free_cores`, `log_will_be_too_short` and `log_too_short` are words of the plan, which `--dry-run` prints as the DAG
does: the first asks for too many cores, the second shortens the topic's retention for a moment and asks for a slow read
rate, the last deletes the first records of a partition (so it comes last: the oracle cannot recompute what is gone).
`off_by_one_micro` adds one micro to a final row that is served while a replay runs, and takes it away again;
`validation_crashed` kills the program that validates; both are the words that the run ended with. `segments_changed`
promotes a replay, lets a second one wait for its answer, rolls the first back, and only then says yes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from bench import report
from bench.live import Database
from cli.entry import settings
from kappa.core.installation.settings import Settings
from tests.rigs.meddling import (
    killed_validation,
    one_micro_more,
    rolled_back_at_the_question,
    shorter_log,
    shorter_retention,
    too_many_cores,
)

JOB = "ad_ctr"
Cause = Callable[[Settings, Database, str], str]
CAUSES: dict[str, Cause] = {
    "no_free_cores": too_many_cores,
    "log_will_be_too_short": shorter_retention,
    "off_by_one_micro": one_micro_more,
    "validation_crashed": killed_validation,
    "segments_changed": rolled_back_at_the_question,
    "log_too_short": shorter_log,
}
"""Each cause gives back the words of the refusal; in the order in which they are tried."""


def main(
    only: Annotated[str, typer.Option(help="Only these, by commas.")] = "",
    as_json: report.Json = False,
) -> None:
    """Cause each refusal and print its words."""
    stack = settings()
    database = Database(stack)
    database.live_of([JOB])
    wanted = [name.strip() for name in only.split(",") if name.strip()] or list(CAUSES)
    said: dict[str, Any] = {}
    for name, cause in CAUSES.items():
        if name in wanted:
            report.say(f"\n{name}")
            said[name] = cause(stack, database, JOB)
            report.say(said[name])
    if as_json:
        report.document(said)


if __name__ == "__main__":
    report.run(main)
