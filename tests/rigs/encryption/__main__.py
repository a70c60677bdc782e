"""What encryption costs: Spark reads a topic, clients connect, Postgres commits, with TLS over the same without it, in
turn, at servers of the bench's own.

Command: python -m tests.rigs.encryption [--records 400000] [--times 5] [--seed N] [--json]
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from statistics import median
from typing import Annotated

import typer

from bench import report
from tests.rigs.encryption import database, log

WAYS = ("plain", "TLS")
Measure = Callable[[], Mapping[str, float]]


def main(
    records: Annotated[int, typer.Option(min=1_000, help="Of the topic.")] = 400_000,
    times: Annotated[int, typer.Option(min=1, help="Rounds, after one that is not counted.")] = 5,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the traffic; random if absent.")] = None,
    as_json: report.Json = False,
) -> None:
    """Measure it; no stack is needed."""
    seed = secrets.randbelow(2**31) if seed is None else seed
    report.say(f"{records:,} records, seed {seed}")
    with log.both_ways(records, seed) as of_log:
        found = in_turn(dict(zip(WAYS, of_log, strict=True)), times)
    with database.both_ways() as of_database:
        found |= in_turn(dict(zip(WAYS, of_database, strict=True)), times)
    if as_json:
        report.document({"records": records, "seed": seed, "figures": found})
        return
    rows = [(name, *(median(of[way]) for way in WAYS), ratio(of)) for name, of in found.items()]
    report.table(f"{records:,} records, middle of {times} rounds", ("figure", *WAYS, "x"), rows)


def in_turn(measures: Mapping[str, Measure], times: int) -> dict[str, dict[str, list[float]]]:
    """Figure to way to its values, one a round; the first round warms up and is left out."""
    found: dict[str, dict[str, list[float]]] = {}
    for number in range(times + 1):
        for way, measure in measures.items():
            values = measure()
            for name, value in values.items() if number else ():
                found.setdefault(name, {}).setdefault(way, []).append(value)
        report.say(f"round {number} of {times}")
    return found


def ratio(of: Mapping[str, list[float]]) -> float:
    """The middle with TLS over the middle without."""
    return median(of["TLS"]) / median(of["plain"])


if __name__ == "__main__":
    report.run(main)
