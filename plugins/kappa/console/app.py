"""The routes of the console: pages and their files as they lie here, and what the pages ask for, all to be read only.

Who may read is decided by whoever includes the router; no route of it may be served without. Routes are plain
functions, which the server runs in threads: what they do is wait for Postgres.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.responses import JSONResponse, Response

from kappa.console import advice, comparison, explanation, fates, findings, history, numbers
from kappa.console.database import Database
from kappa.console.now import Now
from kappa.console.questions import report
from kappa.console.questions import routes as of_questions
from kappa.console.snapshots import SECONDS, Snapshots
from kappa.core.advice.load import free_of
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import JOBS
from kappa.core.refusals import Refusal
from kappa.core.verb_steps import Verb

FILES = Path(__file__).with_name("static")
PAGES = ("now", "numbers", "fates", "releases", "replays")
PAGE = Path(__file__).with_name("page.html")
"""What all of them are but for their name."""
KINDS = {".svg": "image/svg+xml", ".css": "text/css", ".js": "text/javascript", ".html": "text/html"}
REPLAYS = frozenset({Verb.REPROCESS.dag_id, Verb.PROMOTE.dag_id, Verb.PROVE.dag_id})
"""The DAGs whose tab shows the replays first."""
HEADERS = {
    # Scripts and styles from here only, none inline, nothing from elsewhere; framed by Airflow's own pages only.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of each answer, refusals too."""


@dataclass(frozen=True)
class Readers:
    """Those who read one after another over a connection of their own, and what they read lately."""

    settings: Callable[[], Settings]
    snapshots: Snapshots = field(default_factory=Snapshots)

    def told(self, key: Hashable, read: Callable[[Database], Any], seconds: float = SECONDS) -> Response:
        """As `_told`; whoever reads holds the snapshots' turn, so the connection is made once."""
        return _told(self.snapshots, key, lambda: read(self.database), seconds)

    @cached_property
    def database(self) -> Database:
        """The connection. Raises what is wrong with the settings."""
        return Database(self.settings())


class Console:
    """What the routes share. Who waits for one of the four does not wait for another one."""

    def __init__(self, settings: Callable[[], Settings], capacity: Callable[[], Mapping[str, int]]) -> None:
        self.settings, self.capacity = settings, capacity
        self.cluster, self.monitor = Snapshots(), Snapshots()
        """What the cluster and the monitor said lately."""
        self.pages = Readers(settings)
        """Of what pages ask for by themselves, all of it quick."""
        self.people = Readers(settings)
        """Of what somebody chose to see, which may take as long as a reading may."""

    @cached_property
    def now(self) -> Now:
        """The page that remembers."""
        return Now(self.pages.database, self.settings())


class Gone(Refusal):
    """There is no such page or file."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the console has no '{name[:64]}'.")


STATUS: dict[type[Refusal], int] = {
    numbers.NoSuchChoice: 400, fates.NoSuchRecord: 404, report.NoReport: 404, Gone: 404,
    comparison.RowsGone: 410,
}  # fmt: skip
"""Of a refusal; 503 for all others, which another try may help."""
Text = Annotated[str, Query(max_length=1000)]
Partition = Annotated[int, Query(ge=0, lt=2**31)]
Offset = Annotated[int, Query(ge=0, lt=2**63)]
Number = Annotated[int, Query(ge=1, lt=2**31)]
Seconds = Annotated[int | None, Query(ge=0, lt=2**40)]


def router(settings: Callable[[], Settings], capacity: Callable[[], Mapping[str, int]]) -> APIRouter:
    """The routes below `/console`; the settings are read when they are first needed. `capacity` tells what the cluster
    has, by name: hosts, cores, free_cores, memory_mb, free_memory_mb; it may raise a Refusal."""
    console, routes = Console(settings, capacity), APIRouter(prefix="/console")
    _add_files(routes)
    _add_streams(routes, console)
    _add_history(routes, console)
    of_questions.add(routes, console.people, lambda: settings().store)
    return routes


def protect(app: FastAPI) -> None:
    """Give each answer of an application the HEADERS, and refusals a status and their sentence."""

    @app.middleware("http")
    async def _headers(request: Request, call: Callable[[Request], Any]) -> Response:
        answer: Response = await call(request)
        for name, value in HEADERS.items():
            answer.headers.setdefault(name, value)
        return answer

    @app.exception_handler(Refusal)
    async def _refused(_request: Request, refusal: Exception) -> JSONResponse:
        status = next((held for kind, held in STATUS.items() if isinstance(refusal, kind)), 503)
        return JSONResponse({"refused": str(refusal)}, status)


def _add_files(routes: APIRouter) -> None:
    @routes.get("/")
    def first(dag: Text = "") -> Response:
        """The first page; on the tab of a DAG that replays, the replays."""
        return _page("replays" if dag in REPLAYS else "now")

    @routes.get("/static/{name}")
    def static(name: str) -> Response:
        return _file(name)

    @routes.get("/page/verbs")
    def verbs() -> dict[str, Any]:
        """The verbs by the DAGs whose forms ask for them, the jobs, and of these the ones whose rows are windows."""
        listed = [{"verb": verb.value, "dag_id": verb.dag_id, "meaning": verb.meaning} for verb in Verb]
        return {"verbs": listed, "jobs": list(JOBS), "windowed": comparison.windowed()}

    @routes.get("/{page}")
    def page(page: str) -> Response:
        return _page(page)


def _add_streams(routes: APIRouter, console: Console) -> None:
    @routes.get("/data/now")
    def now() -> Response:
        return console.pages.told("now", lambda _: console.now.read())

    @routes.get("/data/hours")
    def hours() -> Response:
        return console.pages.told("hours", lambda _: console.now.hours(), 10)

    @routes.get("/data/capacity")
    def capacity() -> Response:
        return _told(console.cluster, "capacity", console.capacity, 10)

    @routes.get("/data/findings")
    def of_monitor() -> Response:
        return _told(console.monitor, "findings", lambda: findings.told(console.settings()), 5)

    @routes.get("/data/advice")
    def of_sizes() -> Response:
        free = free_of(lambda: console.cluster.get("capacity", console.capacity, 10).value)
        return console.pages.told("advice", lambda database: advice.read(database, free), 10)

    @routes.get("/data/numbers")
    def of_numbers(span: Text = "1h", client: Text = "", ad: Text = "") -> Response:
        chosen = numbers.choice(span, client, ad)
        return console.people.told(chosen, lambda database: numbers.read(database, chosen), 2)

    @routes.get("/data/explanation")
    def explained(client: Text, ad: Text, minute: int) -> Response:
        key = ("explanation", client, ad, minute)
        return console.people.told(key, lambda database: explanation.read(database, client, ad, minute), 2)

    @routes.get("/data/fates")
    def of_fates(job: Text = "ad_ctr", span: Text = "1h") -> Response:
        return console.pages.told(("fates", job, span), lambda database: fates.read(database, job, span), 5)


def _add_history(routes: APIRouter, console: Console) -> None:
    @routes.get("/data/quarantine")
    def quarantine(span: Text = "1h", fate: Text = "", reason: Text = "") -> Response:
        key = ("quarantine", span, fate, reason)
        return console.people.told(key, lambda database: fates.refused(database, span, fate, reason), 5)

    @routes.get("/data/value")
    def value(partition: Partition, offset: Offset) -> Response:
        """The kept bytes of a refused record, for the disk: never for the browser to show."""
        key = ("value", partition, offset)
        people = console.people
        held = people.snapshots.get(key, lambda: fates.value(people.database, partition, offset)).value
        named = {"Content-Disposition": f'attachment; filename="record-{partition}-{offset}.bin"'}
        return Response(held, media_type="application/octet-stream", headers=named)

    @routes.get("/data/releases")
    def releases(job: Text = "") -> Response:
        if job and job not in JOBS:
            raise numbers.NoSuchChoice("job", job, f"there are {', '.join(JOBS)}")
        return console.people.told(("releases", job), lambda database: history.releases(database, job), 5)

    @routes.get("/data/versions")
    def versions() -> Response:
        return console.people.told("versions", history.versions, 10)

    @routes.get("/data/comparison")
    def compared(job: Text, left: Number, right: Number, span: Text = "1h", until: Seconds = None) -> Response:
        """Two versions of a job, of which each window is read; so it is kept for a while."""
        key = ("comparison", job, left, right, span, until)
        return console.people.told(key, lambda database: comparison.read(database, job, left, right, span, until), 10)

    @routes.get("/data/replays")
    def replays() -> Response:
        return console.pages.told("replays", history.under_way, 2)


def _told(snapshots: Snapshots, key: Hashable, read: Callable[[], Any], seconds: float = SECONDS) -> Response:
    """What was read lately, with its age, by which a page says as of when it is. Raises what `read` refuses, Busy."""
    found = snapshots.get(key, read, seconds)
    return JSONResponse(found.value, headers={"Age": str(round(found.age))})


def _page(name: str) -> Response:
    """A page: nothing but its own name is filled in, out of PAGES. Raises Gone."""
    if name not in PAGES:
        raise Gone(name)
    text = PAGE.read_text().replace("{page}", name).replace("{title}", name.title())
    return Response(text, media_type=KINDS[".html"])


def _file(name: str) -> Response:
    """A file of the folder. Raises Gone."""
    if name not in {file.name for file in FILES.iterdir()}:
        raise Gone(name)
    file = FILES / name
    return Response(file.read_bytes(), media_type=KINDS.get(file.suffix, "text/plain"))
