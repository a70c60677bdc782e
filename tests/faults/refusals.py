"""Changes of a running job's code: the dangerous ones, each refused with its table, and one that is deployed in place.

Command: python -m tests.faults.refusals [--rate 500] [--json]

Each change is one edit (tests/rigs/dangers.py) of a copy of the code, built there. The words are those with which
`./kappa deploy` ended. Exit 1 unless every dangerous change was refused with the version as it was, and the allowed
one was deployed.
"""

from __future__ import annotations

import secrets
import time
from typing import Annotated, Any

import typer

from bench import report
from bench.live import Database, ask
from bench.load import Background
from bench.replays import sentence
from bench.rescale import parts
from cli.entry import settings
from kappa.core.installation.settings import Settings
from tests.rigs import patches
from tests.rigs.dangers import ALLOWED, DANGERS
from tests.rigs.patches import Patch

JOB = "ad_ctr"
REASON = "tests.faults.refusals"
LONGEST_HOURS = 1
SETTLE_SECONDS = 10.0
_RUNS_AS = """
select v.version, v.artifact, v.settings, v.generation, v.state, v.desired, d.epoch from ops.versions v
join ops.drivers d using (job, version) where (v.job, v.version) = (%s, %s)
"""


def main(
    rate: Annotated[float, typer.Option(min=1, help="Records per second meanwhile.")] = 500.0,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the traffic; random if absent.")] = None,
    as_json: report.Json = False,
) -> None:
    """Try each dangerous change and one allowed one under load."""
    stack = settings()
    database, seed = Database(stack), secrets.randbelow(2**31) if seed is None else seed
    report.say(f"seed {seed}")
    (live,) = database.live_of([JOB])
    with Background(stack, seed, rate, LONGEST_HOURS * 3600):
        refused = [_refused(stack, database, live.version, danger) for danger in DANGERS]
        allowed = _allowed(stack, database)
    found = {"seed": seed, "rate": rate, "refused": refused, "allowed": allowed}
    report.document(found) if as_json else _tell(found)
    if not as_expected(refused, allowed):
        raise typer.Exit(1)


def as_expected(refused: list[dict[str, Any]], allowed: dict[str, Any]) -> bool:
    """Whether all the dangerous changes were refused and touched nothing, and the allowed one was made."""
    return all(one["exit_code"] == 1 and one["untouched"] for one in refused) and allowed["exit_code"] == 0


def _refused(stack: Settings, database: Database, version: int, danger: Patch) -> dict[str, Any]:
    """Build the change and ask for it; the version, and the epoch of its driver, must be what they were."""
    artifact = patches.build(stack, danger)
    before = database.rows(_RUNS_AS, JOB, version)
    said = ask(stack, "deploy", JOB, "--artifact", artifact, "--reason", REASON, "--json")
    untouched = database.rows(_RUNS_AS, JOB, version) == before
    report.say(f"{danger.what}: exit {said.exit_code}, {'untouched' if untouched else 'TOUCHED'}")
    words = {"what": danger.what, "file": danger.file, "artifact": artifact, "said": sentence(said)}
    return {**words, "exit_code": said.exit_code, "untouched": untouched}


def _allowed(stack: Settings, database: Database) -> dict[str, Any]:
    """Build and deploy the change that may be made; the longest gap between two commits around it."""
    artifact, since = patches.build(stack, ALLOWED), database.now_ms()
    said = ask(stack, "deploy", JOB, "--artifact", artifact, "--reason", REASON, "--json")
    time.sleep(SETTLE_SECONDS)
    gap = database.longest_gap_s(JOB, since)
    marks = database.newest_marks(JOB)
    words = {"what": ALLOWED.what, "file": ALLOWED.file, "artifact": artifact, "said": sentence(said)}
    return {
        **words,
        "exit_code": said.exit_code,
        "pause_s": round(gap, 1),
        "parts": parts(marks) if marks else {},
    }


def _tell(found: dict[str, Any]) -> None:
    for one in found["refused"]:
        report.say(f"\n{one['what']} ({one['file']}): {'nothing was touched' if one['untouched'] else 'TOUCHED'}")
        report.say(one["said"])
    allowed = found["allowed"]
    report.say(
        f"\n{allowed['what']} ({allowed['file']}): {allowed['pause_s']} s between two commits, {allowed['parts']}"
    )
    report.say(allowed["said"])


if __name__ == "__main__":
    report.run(main)
