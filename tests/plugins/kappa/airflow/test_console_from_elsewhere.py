"""What a page of another site gets through the browser of somebody who is signed in to Airflow: nothing of the console,
and no verb."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from kappa.airflow.plugin import PAGE
from kappa.airflow_sign_in import password_of
from kappa.core.verb_steps import Verb
from tests.rigs.api_server import ApiServer
from tests.rigs.browser import Looked, looking

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.long(minutes=1)
PERSON = "operator"
DATA, SCRIPT = f"/{PAGE}data/now", f"/{PAGE}static/page.js"
RUNS = f"/api/v2/dags/{Verb.REPAIR.dag_id}/dagRuns"
JSON = {"headers": {"Content-Type": "application/json"}}
WANTED = '{"logical_date": null}'
"""What starts a run, as Airflow's own pages send it."""
ASKS = """async ([url, options]) => {
    try { const told = await fetch(url, {credentials: "include", ...options}); return `${told.type} ${told.status}`; }
    catch (failure) { return failure.name; }
}"""
LOADS = """([tag, url]) => new Promise((told) => {
    const part = document.createElement(tag);
    part.onload = () => told("loaded");
    part.onerror = () => told("refused");
    part.src = url;
    document.body.append(part);
})"""
SENDS = """(url) => {
    const form = document.createElement("form"), field = document.createElement("input");
    Object.assign(form, {method: "post", action: url, enctype: "text/plain"});
    Object.assign(field, {name: '{"logical_date": null, "note": "', value: '"}'});
    form.append(field);
    document.body.append(form);
    form.submit();
}"""
"""A form whose text reads as JSON."""


class _Empty(BaseHTTPRequestHandler):
    """A page with nothing on it, which the tests fill."""

    def do_GET(self) -> None:
        """Answer."""
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>elsewhere</title><body>")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def elsewhere() -> Iterator[str]:
    """A site that is not Airflow's, for as long as the body runs: to a browser, localhost and 127.0.0.1 are two."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Empty) as server:
        thread = Thread(target=partial(server.serve_forever, 0.05), daemon=True)
        thread.start()
        yield f"http://localhost:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def signed_in(browser: Browser, server: ApiServer) -> Iterator[Looked]:
    """A page of an operator who came in by Airflow's own form, so that the cookie is the one that Airflow makes."""
    with looking(browser) as looked:
        looked.page.goto(f"{server.settings.airflow_url}/auth/login")
        looked.page.locator("input[name=username]").fill(PERSON)
        looked.page.locator("input[name=password]").fill(password_of(server.settings, PERSON))
        looked.page.locator("button[type=submit]").click()
        looked.page.get_by_role("link", name="Streams").wait_for()
        yield looked


@pytest.fixture
def strange(signed_in: Looked) -> Iterator[Page]:
    """A page of another site in the same browser, where that cookie is."""
    with elsewhere() as site:
        page = signed_in.page.context.new_page()
        page.goto(site)
        yield page


def test_a_page_of_another_site_reads_and_shows_nothing_of_the_console(
    server: ApiServer, signed_in: Looked, strange: Page
) -> None:
    base = server.settings.airflow_url
    assert signed_in.page.evaluate(ASKS, [base + DATA, {}]) == "basic 503", "at home it is let in: there is no registry"
    assert strange.evaluate(ASKS, [base + DATA, {}]) == "TypeError"
    assert strange.evaluate(ASKS, [base + DATA, {"mode": "no-cors"}]) == "TypeError"
    assert strange.evaluate(LOADS, ["script", base + SCRIPT]) == "refused"
    with strange.expect_event("framenavigated", lambda frame: frame.parent_frame is not None) as led:
        strange.evaluate(LOADS, ["iframe", f"{base}/{PAGE}"])
    assert led.value.url == "chrome-error://chromewebdata/"


def test_a_page_of_another_site_starts_no_verb(server: ApiServer, signed_in: Looked, strange: Page) -> None:
    """Not by a script, whose requests have no cookie. A form that leads away has it for two minutes after the sign-in,
    for Airflow's form sets one without SameSite; but no form sends JSON, and Airflow takes nothing else."""
    base, script = server.settings.airflow_url, {"method": "POST", "body": WANTED}
    server.airflow("dags", "reserialize")
    assert strange.evaluate(ASKS, [base + RUNS, script | JSON]) == "TypeError"
    with strange.expect_response(base + RUNS) as answered:
        strange.evaluate(ASKS, [base + RUNS, script | {"mode": "no-cors"}])
    assert answered.value.status == 401
    with strange.expect_response(base + RUNS) as answered:
        strange.evaluate(SENDS, base + RUNS)
    assert answered.value.status in {401, 422}
    assert runs(server) == 0
    assert signed_in.page.evaluate(ASKS, [base + RUNS, script | JSON]) == "basic 200"
    assert runs(server) == 1, "at home it is taken"


def runs(server: ApiServer) -> int:
    """How many runs of DAGs there are."""
    with closing(sqlite3.connect(server.database)) as database:
        [[count]] = database.execute("select count(*) from dag_run").fetchall()
    return int(count)
