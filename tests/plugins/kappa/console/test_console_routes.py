"""What the console's routes answer, without a database: pages, files, headers, and refusals in words."""

from __future__ import annotations

import hashlib
import re
import time
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from kappa.console.app import FILES, HEADERS, PAGE, PAGES, protect, router
from kappa.console.fates import shown
from kappa.console.text import plain
from kappa.core.advice.load import Free, free_of
from kappa.core.installation.embedded import Ports
from kappa.core.installation.settings import Settings
from kappa.core.verb_steps import Verb
from kappa.unavailable import Unreachable

UPLOT = {
    "uPlot.esm.js": "5dd9b3281aa64b461b42d9945f6adb2649d346502b12281a9ae0d46599a80eba",
    "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
    "uPlot.LICENSE": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
}
"""SHA-256 of the files of the package uplot 1.6.32 as npm has it; taken over unchanged, and under its licence (MIT)."""


def away() -> dict[str, int]:
    """A cluster whose master does not answer."""
    raise Unreachable("Spark's master", "http://127.0.0.1:1", "refused")


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    app = FastAPI()
    protect(app)
    settings = Settings(tmp_path / "state", ports=Ports(postgres=1))
    app.include_router(router(lambda: settings, away))
    return TestClient(app, raise_server_exceptions=False)


def test_an_answer_tells_how_old_it_is_from_the_begin_of_its_read(tmp_path: Path) -> None:
    """Also to whoever gets what was read for another."""

    def slowly() -> dict[str, int]:
        time.sleep(0.6)
        return {"hosts": 1}

    app = FastAPI()
    app.include_router(router(lambda: Settings(tmp_path), slowly))
    first, second = (TestClient(app).get("/console/data/capacity") for _ in range(2))
    assert first.json() == second.json() == {"hosts": 1}
    assert first.headers["age"] == second.headers["age"] == "1"


@pytest.mark.parametrize("name", UPLOT)
def test_the_library_of_plots_is_the_one_that_was_looked_at(name: str) -> None:
    assert hashlib.sha256((FILES / name).read_bytes()).hexdigest() == UPLOT[name]


def test_every_page_and_file_is_served_as_what_it_is(client: TestClient) -> None:
    kinds = {".svg": "image/svg+xml", ".js": "text/javascript", ".css": "text/css", ".html": "text/html"}
    for file in FILES.iterdir():
        answer = client.get(f"/console/static/{file.name}")
        assert answer.status_code == 200
        assert answer.headers["content-type"].split(";")[0] == kinds.get(file.suffix, "text/plain")
    for page in PAGES:
        text = client.get(f"/console/{page}").text
        assert f"<h1>{page.title()}</h1>" in text
        assert f'src="static/{page}.js"' in text
        assert "{" not in text
        assert client.get(f"/console/static/{page}.js").status_code == 200
    assert "<h1>Now</h1>" in client.get("/console/").text
    assert "<h1>Now</h1>" in client.get("/console/?dag=deploy_stream").text
    assert "<h1>Replays</h1>" in client.get("/console/?dag=reprocess_stream").text


@pytest.mark.parametrize(
    "name",
    [
        "page.html",
        "static/page.html",
        "{page}",
        "static/..%2f..%2f__init__.py",
        "static/%2e%2e/app.py",
        "static/app.py",
        "nothing",
        "static/",
    ],
)
def test_nothing_else_is_served(client: TestClient, name: str) -> None:
    assert client.get(f"/console/{name}").status_code == 404


def test_every_answer_forbids_what_is_inline_or_from_elsewhere(client: TestClient) -> None:
    for path in ("/console/", "/console/static/now.js", "/console/data/now", "/console/nothing", "/nothing"):
        held = client.get(path).headers
        assert {name: held[name] for name in HEADERS} == HEADERS
    policy = dict(part.strip().split(" ", 1) for part in HEADERS["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert set(policy.values()) == {"'none'", "'self'"}


def test_pages_hold_no_inline_script_or_style_and_name_no_other_host() -> None:
    own = [PAGE, *(file for file in FILES.iterdir() if not file.name.startswith("uPlot"))]
    assert len(own) > 10
    for file in own:
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|//[a-z]+\.[a-z]", text), file.name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text), file.name
        if file.suffix == ".html":
            assert not re.search(r"<style|style=|\son\w+=|<script(?![^>]*\ssrc=)", text), file.name


@pytest.mark.parametrize(
    "asked",
    [
        "data/numbers?span=1y", "data/numbers?client=<script>", "data/numbers?ad=a%20b", "data/fates?job=other",
        "data/fates?span=", "data/quarantine?fate=other", "data/quarantine?reason=a%00b",
        "data/explanation?client=c&ad=a&minute=61",
        "data/explanation?client=c&ad=%3Cb%3E&minute=60", "data/explanation?client=c&ad=a&minute=-60",
        "data/releases?job=other", "data/comparison?job=quarantine&left=1&right=2",
        "data/comparison?job=ad_ctr&left=1&right=1", "data/comparison?job=ad_ctr&left=1&right=2&span=1y",
        "data/comparison?job=ad_ctr&left=1&right=2&until=1000000000000",
    ],
)  # fmt: skip
def test_what_there_is_not_is_refused_before_anything_is_read(client: TestClient, asked: str) -> None:
    answer = client.get(f"/console/{asked}")
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/json")
    assert "cannot be shown" in answer.json()["refused"]


@pytest.mark.parametrize(
    "asked",
    [
        "data/value?partition=-1&offset=0",
        "data/value?partition=0&offset=x",
        "data/explanation",
        "data/comparison?job=ad_ctr&left=0&right=1",
    ],
)
def test_what_is_no_question_is_refused(client: TestClient, asked: str) -> None:
    assert client.get(f"/console/{asked}").status_code == 422


def test_while_postgres_is_away_a_page_says_so(client: TestClient) -> None:
    for asked in (
        "now",
        "hours",
        "numbers",
        "fates",
        "quarantine",
        "releases",
        "replays",
        "value?partition=0&offset=0",
        "comparison?job=ad_ctr&left=1&right=2",
        "versions",
    ):
        answer = client.get(f"/console/data/{asked}")
        assert answer.status_code == 503
        assert re.match(
            r"Postgres at 127.0.0.1:1 gave no answer: .*\./kappa status says more", answer.json()["refused"]
        )
    first = client.get("/console/page/verbs").json()["verbs"][0]
    assert first == {"verb": "deploy", "dag_id": "deploy_stream", "meaning": Verb.DEPLOY.meaning}


def test_while_the_cluster_is_away_only_what_it_has_is_not_told(client: TestClient) -> None:
    answer = client.get("/console/data/capacity")
    assert (answer.status_code, "Spark's master" in answer.json()["refused"]) == (503, True)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_nothing_can_be_changed(client: TestClient, method: str) -> None:
    for path in ("/console/", "/console/data/now", "/console/now"):
        assert client.request(method, path).status_code == 405


def test_bytes_are_shown_as_printable_ascii_only() -> None:
    assert shown(b'<script>"\\\x00\xff\n') == {"text": '<script>"\\\\\\x00\\xff\\x0a', "bytes": 13, "cut": False}
    assert shown(b"a" * 300) == {"text": "a" * 256, "bytes": 300, "cut": True}
    assert shown(None) is None


def test_money_reaches_a_page_to_the_micro() -> None:
    assert plain({"micros": 2**53, "small": 2**53 - 1, "is": True}) == {
        "micros": "9007199254740992", "small": 2**53 - 1, "is": True,
    }  # fmt: skip


def test_a_cluster_that_is_away_leaves_what_is_free_unknown() -> None:
    assert free_of(away) is None
    assert free_of(lambda: {"free_cores": 2, "free_memory_mb": 512, "hosts": 1}) == Free(2, 512)
