"""Each route of the console over many served rows, asked over HTTP: how long an answer takes that somebody waits for.

Command: python -m bench.route_times [--ads 10000] [--clients 500] [--minutes 1000] [--times 100] [--json]

The routes are those of `kappa.console.app`, in a server of the bench's own, without Airflow's sign-in before them. A
page that asks for the same twice is given what was read a moment ago: so each question is about another client, ad or
minute where a person chooses one, and half a second after the one before where a page asks by itself. No record was
refused there, and no monitor runs.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any

import httpx
import typer
import uvicorn
from fastapi import FastAPI

from bench import report
from bench.database import Ads, Clients, Filling, Minutes, fill, free_port, own_postgres
from bench.percentiles import summary
from kappa.cluster import Capacity, Host
from kappa.console.app import protect, router
from kappa.core.installation.settings import Settings
from stack.waiting import until

CAPACITY = Capacity((Host(8, 3, 16_384, 4_096),)).to_json()
BY_ITSELF = ("data/now", "data/hours", "data/advice", "data/capacity", "data/findings", "data/replays", "data/versions")
"""What pages ask for without anybody choosing anything."""
COMPARED_MINUTES = 180
"""Of a second version of `ad_ctr`."""
PAUSE_SECONDS = 0.5
COLUMNS = ("times", "p50", "p90", "p99", "max", "answers")
STARTS_SECONDS = 30.0


def main(
    ads: Ads = 10_000,
    clients: Clients = 500,
    minutes: Minutes = 1_000,
    times: Annotated[int, typer.Option(min=1, help="How often each is asked.")] = 100,
    as_json: report.Json = False,
) -> None:
    """Fill a database and ask each route of the console over it."""
    newest = datetime.now(UTC).replace(second=0, microsecond=0)
    filling = Filling(ads, clients, minutes, newest)
    with own_postgres() as settings:
        made = fill(settings, "ad_ctr", 1, filling)
        fill(settings, "client_spend", 1, filling)
        fill(settings, "ad_ctr", 2, replace(filling, minutes=min(minutes, COMPARED_MINUTES), differs=1_000))
        with served(settings) as url:
            measured = {route: _measured(url, route, asked, times) for route, asked in questions(filling).items()}
    if as_json:
        report.document({"rows": made, "unit": "ms", "routes": measured})
        return
    rows = [(name, *(figures[column] for column in COLUMNS)) for name, figures in measured.items()]
    report.table(f"ms to answer over {made:,} rows", ("route", *COLUMNS), rows)


def questions(filling: Filling) -> dict[str, Iterator[Mapping[str, Any]]]:
    """For each route and what is chosen on it, the parameters of one question after another."""
    numbers = itertools.cycle(range(1, filling.ads + 1))
    minutes = itertools.cycle(range(min(filling.minutes, COMPARED_MINUTES)))

    def of_client(number: int) -> dict[str, str]:
        return {"span": "24h", "client": f"client-{number % filling.clients}"}

    def of_ad(number: int) -> dict[str, str]:
        return {**of_client(number), "ad": f"ad-{number}"}

    def at(ago: int) -> int:
        return int(filling.newest.timestamp()) - 60 * ago

    def point(number: int, ago: int) -> dict[str, str | int]:
        return {"client": f"client-{number % filling.clients}", "ad": f"ad-{number}", "minute": at(ago)}

    versions = {"job": "ad_ctr", "left": 1, "right": 2, "span": "15m"}
    nothing: Iterator[Mapping[str, Any]] = itertools.repeat({})
    return {
        **dict.fromkeys(("now", "static/now.js", *BY_ITSELF), nothing),
        "data/numbers, a client": (of_client(number) for number in numbers),
        "data/numbers, an ad": (of_ad(number) for number in numbers),
        "data/numbers, all of 1 h": itertools.repeat({"span": "1h"}),
        "data/explanation": (point(number, next(minutes)) for number in numbers),
        "data/comparison": ({**versions, "until": at(ago)} for ago in minutes),
        "data/fates": itertools.cycle([{"job": job, "span": span} for job in ("ad_ctr", "client_spend")
                                       for span in ("1h", "24h")]),
        "data/quarantine": itertools.repeat({"span": "24h"}),
        "data/releases": nothing,
    }  # fmt: skip


@contextmanager
def served(settings: Settings) -> Iterator[str]:
    """The address of a server of the console's routes, for as long as the body runs."""
    app = FastAPI()
    protect(app)
    app.include_router(router(lambda: settings, lambda: CAPACITY))
    server = uvicorn.Server(uvicorn.Config(app, port=free_port(), log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        until(lambda: server.started, STARTS_SECONDS)
        yield f"http://127.0.0.1:{server.config.port}/console/"
    finally:
        server.should_exit = True
        thread.join()


def _measured(url: str, route: str, asked: Iterator[Mapping[str, Any]], times: int) -> dict[str, Any]:
    """Milliseconds of each answer, and how many there were of each status."""
    path, took, answers = route.split(",")[0], list[float](), Counter[int]()
    with httpx.Client(base_url=url, timeout=60.0, trust_env=False) as client:
        for parameters in itertools.islice(asked, times):
            begun = time.monotonic()
            answers[client.get(path, params=parameters).status_code] += 1
            took.append(1_000 * (time.monotonic() - begun))
            if path in BY_ITSELF:
                time.sleep(PAUSE_SECONDS)
    said = ", ".join(f"{number} of {status}" for status, number in sorted(answers.items()))
    return {
        "times": times,
        **{name: value for name, value in summary(took).items() if name != "count"},
        "answers": said,
    }


if __name__ == "__main__":
    report.run(main)
