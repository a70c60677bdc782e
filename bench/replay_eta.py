"""How right the time left of a replay is, as `status` and the console tell it, against when it was ready.

Command: python -m bench.replay_eta [--replays 6] [--records 300000] [--rate 300] [--json]

No replay is promoted: each is rejected once it is validated, and its candidates are retired. The first one of an
installation has nothing but assumed starts and speeds to go by.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import median
from typing import Annotated, Any

import psycopg
import typer
from psycopg.rows import dict_row

from bench import batches, load, replays, report
from bench.beside import Beside
from bench.live import Database, Version, ask
from bench.load import Background
from bench.serving_reader import JOBS
from cli.entry import settings
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.platform import connect
from kappa.status import replays as under_way
from stack.waiting import until

LOOK_SECONDS = 3.0
JUDGED_FROM_SECONDS = 10.0
"""Nearer to the end than this a look counts for nothing: that it is ready is told after three looks in a row."""
RIGHT_WITHIN = 0.3
LONGEST_HOURS = 3
STOPPED_SECONDS = 120.0
"""Within so long the candidates of the replay before have given their cores back."""
Look = tuple[float, float | None]
"""When it was looked (epoch ms), and the seconds left that were told; None where none were."""
Parts = tuple[float, float, float, float]
"""When a replay was launched, had first committed, had read what the plan counted, and was ready (epoch ms)."""


class NotSeen(Refusal):
    """A replay ended without ever being ready."""

    def __init__(self, sentence: str) -> None:
        super().__init__(f"a replay was never ready, so no time left can be judged: {sentence}")


@dataclass(frozen=True)
class Judged:
    """One replay: seconds from its launch until it was ready, as planned and as they were, and what they are made of:
    up to the first commit, reading what the plan counted, and what followed until it was called ready; how many looks
    told a time left, how many told none, the share of them that was right within RIGHT_WITHIN, and their median ratio.
    """

    planned_s: float
    took_s: float
    starting_s: float
    reading_s: float
    settling_s: float
    looks: int
    untold: int
    right: float
    median_ratio: float | None


def main(
    count: Annotated[int, typer.Option("--replays", min=1, help="One after another.")] = 6,
    records: Annotated[int, typer.Option(min=1, help="Added to the log before each.")] = 300_000,
    rate: Annotated[float, typer.Option(min=1, help="Records per second that arrive meanwhile.")] = 300.0,
    cores: Annotated[int, typer.Option(min=1, help="Cores of each candidate.")] = 1,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the traffic; random if absent.")] = None,
    as_json: report.Json = False,
) -> None:
    """Replay both jobs again and again over a growing log, and hold what was told against what came."""
    stack = settings()
    database, seed = Database(stack), secrets.randbelow(2**31) if seed is None else seed
    database.live_of(JOBS)
    report.say(f"seed {seed}")
    done: list[Judged] = []
    cluster = connect(stack).cluster
    free = cluster.capacity().free_cores
    with Background(stack, seed, rate, LONGEST_HOURS * 3600):
        for number in range(1, count + 1):
            load.produce(stack, seed + number, records, 60.0)
            until(lambda: cluster.capacity().free_cores >= free, STOPPED_SECONDS, 1.0)
            done.append(_replay(stack, database, ("--cores", str(cores))))
            report.say(f"{number} of {count}: {done[-1]}")
    report.document({"seed": seed, "replays": [asdict(one) for one in done]}) if as_json else _tell(done)


def judged(looks: Sequence[Look], parts_ms: Parts, planned_s: float) -> Judged:
    """What the looks of one replay were worth; those before the launch and near the end do not count."""
    launched_ms, ready_ms = parts_ms[0], parts_ms[-1]
    starting_s, reading_s, settling_s = (round((until - since) / 1000, 1) for since, until in pairwise(parts_ms))
    held = [(at, left) for at, left in looks if launched_ms <= at <= ready_ms - 1000 * JUDGED_FROM_SECONDS]
    ratios = [left / ((ready_ms - at) / 1000) for at, left in held if left is not None]
    right = sum(abs(ratio - 1) <= RIGHT_WITHIN for ratio in ratios)
    return Judged(
        planned_s=round(planned_s, 1),
        took_s=round((ready_ms - launched_ms) / 1000, 1),
        starting_s=starting_s,
        reading_s=reading_s,
        settling_s=settling_s,
        looks=len(ratios),
        untold=len(held) - len(ratios),
        right=round(right / len(held), 2) if held else 0.0,
        median_ratio=round(median(ratios), 2) if ratios else None,
    )


def _replay(stack: Settings, database: Database, options: Sequence[str]) -> Judged:
    since = database.now_ms()
    with _Looking(stack) as looking:
        said = replays.replay(stack, database, JOBS, options, reply_with=replays.REJECT)
    found = replays.newest(database, since)
    if found is None or "reprocess.caught_up" not in found.marks:
        raise NotSeen(replays.sentence(said))
    for job, version in found.versions.items():
        ask(stack, "retire", job, str(version), "--reason", replays.REASON)
    return judged(looking.looks, _parts(database, found), float(found.price["eta_seconds"]))


def _parts(database: Database, found: replays.Replayed) -> Parts:
    """By the candidate that was the last in each."""
    launched, ready = found.marks["reprocess.launched"], found.marks["reprocess.caught_up"]
    done = [batches.since(database, Version(job, number, 1, ""), launched) for job, number in found.versions.items()]
    read = [[one.committed_ms for one in replays.worked_off(each, found.expected)] or [ready] for each in done]
    return launched, max(commits[0] for commits in read), min(max(commits[-1] for commits in read), ready), ready


class _Looking(Beside):
    """Looks at the replays under way while the body runs."""

    def __init__(self, stack: Settings) -> None:
        super().__init__("looking")
        self._stack, self.looks = stack, list[Look]()

    def work(self) -> None:
        """Look every LOOK_SECONDS, until it is enough."""
        with psycopg.connect(self._stack.dsn("kappa_operator"), autocommit=True, row_factory=dict_row) as connection:
            while not self.stopping.wait(LOOK_SECONDS):
                for replay in under_way.read(connection):
                    left = [candidate["eta_seconds"] for candidate in replay["candidates"]]
                    self.looks.append((time.time() * 1000, None if None in left else max(left)))


def _tell(done: Sequence[Judged]) -> None:
    columns = ("replay", *(name.replace("_", " ") for name in asdict(done[0])))
    rows: list[tuple[Any, ...]] = [(str(number), *asdict(one).values()) for number, one in enumerate(done, start=1)]
    report.table(f"time left, right within {RIGHT_WITHIN:.0%} of the truth", columns, rows)


if __name__ == "__main__":
    report.run(main)
