"""What open pages of the console cost: processor time of Airflow and Postgres with none, one and many, and how long
each of their requests takes.

Command: python -m bench.open_pages [--pages 0,1,20] [--seconds 60] [--json]

A page is its requests, at the intervals of `static/now.js`; no browser draws it. The console lives in Airflow's server.
"""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import ExitStack
from typing import Annotated, Any

import httpx
import typer

from bench import report
from bench.beside import Beside
from bench.cpu import CpuMeter
from bench.percentiles import summary
from cli.entry import settings
from kappa.airflow_sign_in import password_of, sign_in
from stack.services.passwords import PERSON

ROUTES = {"data/now": 1.0, "data/hours": 10.0, "data/advice": 10.0, "data/capacity": 10.0, "data/findings": 5.0}
"""What an open page *Now* asks for, and every how many seconds."""
GROUPS = ("airflow", "postgres")
SETTLING_SECONDS = 5.0


class Page(Beside):
    """A page that is open while the body runs; milliseconds by route."""

    def __init__(self, url: str, token: str) -> None:
        super().__init__("page")
        self._url, self._token = f"{url}/kappa/console/", token
        self.took: defaultdict[str, list[float]] = defaultdict(list)

    def work(self) -> None:
        """Ask as the page does, until it is enough."""
        due = dict.fromkeys(ROUTES, time.monotonic())
        headers = {"Authorization": f"Bearer {self._token}"}
        with httpx.Client(base_url=self._url, headers=headers, timeout=30.0, trust_env=False) as client:
            while not self.stopping.wait(max(min(due.values()) - time.monotonic(), 0.0)):
                route = min(due, key=lambda name: due[name])
                begun = time.monotonic()
                client.get(route).raise_for_status()
                self.took[route].append(1000 * (time.monotonic() - begun))
                due[route] = max(due[route] + ROUTES[route], time.monotonic())


def main(
    pages: Annotated[str, typer.Option(help="How many are open, one figure after another.")] = "0,1,20",
    seconds: Annotated[float, typer.Option(min=1, help="How long each number of them.")] = 60.0,
    as_json: report.Json = False,
) -> None:
    """Open so many pages of the running stack's console, beside whatever load there is."""
    stack = settings()
    token = sign_in(stack.airflow_url, PERSON, password_of(stack, PERSON)).token
    found = {}
    for number in map(int, pages.split(",")):
        opened = [Page(stack.airflow_url, token) for _ in range(number)]
        with ExitStack() as held:
            for page in opened:
                held.enter_context(page)
                time.sleep(1.0 / max(number, 1))
            time.sleep(SETTLING_SECONDS)
            with CpuMeter(stack) as meter:
                begun = time.monotonic()
                time.sleep(seconds)
                used, lasted = meter.read(), time.monotonic() - begun
        found[str(number)] = _figures(used, lasted, opened)
        report.say(f"{number} pages: {found[str(number)]}")
    if as_json:
        report.document(found)
        return
    cpu = [(number, *(figures[group] for group in GROUPS)) for number, figures in found.items()]
    report.table("share of a core", ("pages", *GROUPS), cpu)
    columns = ("count", "p50", "p99", "max")
    rows = [
        (f"{number}: {route}", *(figures["routes"][route][column] for column in columns))
        for number, figures in found.items()
        for route in figures["routes"]
    ]
    report.table("ms for a request", ("pages: route", *columns), rows)


def _figures(used: dict[str, float], seconds: float, opened: list[Page]) -> dict[str, Any]:
    """Shares of a core by group, and milliseconds by route."""
    routes = {route: summary([ms for page in opened for ms in page.took[route]]) for route in ROUTES if opened}
    return {**{group: round(used.get(group, 0.0) / seconds, 3) for group in GROUPS}, "routes": routes}


if __name__ == "__main__":
    report.run(main)
