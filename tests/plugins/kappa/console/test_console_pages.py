"""The pages in a real browser, over a real Postgres: what they show, by mouse and keyboard, and to whom."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from fastapi import FastAPI

from kappa.cluster import Capacity, Host
from kappa.console.app import PAGES, protect, router
from kappa.core.advice.size import Advice, Size
from kappa.core.installation.settings import Settings
from kappa.status.causes import MEANINGS, Cause
from stack.waiting import until
from tests.plugins.kappa.console.conftest import EVIL, add_up_clients, batch, beat, refuse
from tests.rigs.browser import NARROW, SCHEMES, WIDE, Looked, chromium, looking
from tests.rigs.served_by_hand import FIRST, ByHand

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.rig, pytest.mark.long(minutes=0.2)]
SCRIPT = '<script>alert("ad")</script>'
SECOND = FIRST + 1
"""A version of ad_ctr that does not serve; it has other clicks of one ad, and not all rows."""
CAPACITY = Capacity((Host(8, 3, 16_384, 4_096), Host(4, 4, 8_192, 8_192))).to_json()
SHOWN = {
    "now": "Nothing is red", "numbers": "Clients by spend: ", "fates": "equal: the fates add up",
    "releases": "deploy.done", "replays": "No replay is under way",
}  # fmt: skip
"""What each page says once it has its data."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def base(hand: ByHand, settings: Settings) -> Iterator[str]:
    """The console, served by itself; with records of the last minutes, of which some are hostile."""
    _fill(hand)
    app = FastAPI()
    protect(app)
    app.include_router(router(lambda: settings, lambda: CAPACITY))
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning"))
    running = threading.Thread(target=server.run, daemon=True)
    running.start()
    assert until(lambda: server.started, 60)
    yield f"http://127.0.0.1:{port}/console"
    server.should_exit = True
    running.join(30)


def _fill(hand: ByHand) -> None:
    minute = datetime.now(UTC).replace(second=0, microsecond=0)
    rows = [
        {"client_id": client, "ad_id": ad, "window_start": minute - timedelta(minutes=age), "impressions": 50 + age,
         "clicks": 1 + age % 3, "impression_micros": 1_000_000}
        for client, ad in (("c1", "a1"), ("c1", "a2"), ("c2", SCRIPT)) for age in range(30)
    ]  # fmt: skip
    hand.rows("ad_ctr", FIRST, rows)
    add_up_clients(hand)
    hand.through("ad_ctr", FIRST, minute - timedelta(minutes=10))
    hand.stage("ad_ctr", SECOND)
    hand.rows("ad_ctr", SECOND, [{**row, "clicks": 0} if row["ad_id"] == "a2" else row for row in rows[:50]])
    hand.through("ad_ctr", SECOND, minute)
    for job in ("client_spend", "quarantine"):
        hand.through(job, FIRST, minute)
    beat(hand, newest=minute)
    for number in range(20):
        batch(hand, number, 20 + 50 * number, counted=100 + number, late=number % 4, dead_letter=1)
    refuse(hand, 1, "dead_letter", "not JSON: <b>", EVIL)
    hand.execute("update registry.job_version set desired = 'stopped'")
    hand.execute(
        "insert into registry.audit (actor, action, job, version, reason, run_id, evidence) values "
        "('ada', 'deploy.done', 'ad_ctr', 1, %s, 'run-1', '{\"sentence\": \"<img src=x>\"}')",
        "<script>alert(1)</script>",
    )  # fmt: skip


def opened(looked: Looked, base: str, page: str) -> None:
    """A page, with its data, at which nothing has gone wrong."""
    looked.page.goto(f"{base}/{page}")
    looked.page.get_by_text(SHOWN[page]).first.wait_for()


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("page", PAGES)
def test_each_page_shows_its_data_and_keeps_nobody_out(
    browser: Browser, base: str, page: str, scheme: str, size: tuple[int, int]
) -> None:
    with looking(browser, scheme, size) as looked:
        opened(looked, base, page)
        looked.picture(f"{page}_{scheme}_{size[0]}")
        assert looked.against_access() == []
        wide = looked.page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
        assert not wide, "the page itself is to be read without scrolling sideways; tables scroll within"
        assert looked.wrong == []


def test_now_tells_what_a_batch_is_made_of_and_what_the_cluster_has(browser: Browser, base: str, hand: ByHand) -> None:
    hand.execute("update registry.heartbeat set action_ms = 310 where job = 'ad_ctr' and version = %s", FIRST)
    with looking(browser) as looked:
        opened(looked, base, "now")
        looked.page.get_by_text("310 ms to read and compute, 90 ms to commit; ").wait_for()
        looked.page.get_by_text("5 of 12").wait_for()
        looked.page.get_by_text("12,288 of 24,576 MB").wait_for()
        looked.page.route("**/data/capacity", lambda route: route.fulfill(status=503, json={"refused": "It is away."}))
        looked.page.reload()
        looked.page.get_by_text("Not known now. It is away.").wait_for()
        looked.page.get_by_text("310 ms to read and compute").wait_for()


def test_where_nothing_is_deployed_now_says_how_to_begin(browser: Browser, base: str) -> None:
    nothing: dict[str, Any] = {"red": [], "versions": []}
    with looking(browser) as looked:
        looked.page.route("**/data/now", lambda route: route.fulfill(json=nothing))
        looked.page.goto(f"{base}/now")
        looked.page.get_by_text("Nothing is deployed yet: deploy_stream does it, or ./kappa deploy.").wait_for()
        looked.page.unroute("**/data/now")
        looked.page.get_by_role("heading", name=f"ad_ctr v{FIRST}").wait_for()
        assert looked.page.get_by_text("Nothing is deployed yet").count() == 0


@pytest.mark.parametrize(
    ("size", "wanted", "dag", "form"),
    [
        (Size.MORE, {"executor_cores": 2}, "rescale_stream", {"job": "ad_ctr", "cores": 2}),
        (Size.LARGER_BATCHES, {"records_per_batch": 900}, "deploy_stream",
         {"job": "ad_ctr", "settings": ["records_per_batch=900"]}),
    ],
)  # fmt: skip
def test_the_values_of_an_advice_are_copied_for_the_form(
    browser: Browser, base: str, size: Size, wanted: dict[str, int], dag: str, form: dict[str, Any]
) -> None:
    advice = Advice("ad_ctr", FIRST, size, "It is busy", wanted).to_json()
    with looking(browser) as looked:
        looked.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        looked.page.route("**/data/advice", lambda route: route.fulfill(json={"advice": [advice]}))
        opened(looked, base, "now")
        assert looked.page.get_by_role("link", name=f"Form of {dag}").get_attribute("href").endswith(f"dags/{dag}")
        looked.page.get_by_role("button", name="Copy its values").click()
        looked.page.get_by_role("button", name="Copied").wait_for()
        assert json.loads(looked.page.evaluate("navigator.clipboard.readText()")) == form | {
            "reason": "as advised", "dry_run": False,
        }  # fmt: skip
        assert looked.against_access() == []
        looked.picture(f"advice-{size}")


def test_lines_have_gaps_where_nobody_looked_and_axes_short_numbers(browser: Browser, base: str) -> None:
    script = """async (address) => {
        const {count, gaps} = await import(address);
        return [gaps([10, 11, 500, 501], [1, 2, 3, 4], 60), [0, 99999, 1234567].map(count)];
    }"""
    with looking(browser) as looked:
        opened(looked, base, "now")
        known, numbers = looked.page.evaluate(script, f"{base}/static/plots.js")
    assert known == {"at": [10, 11, 12, 500, 501], "values": [1, 2, None, 3, 4]}
    assert numbers == ["0", "99,999", "1.23M"]


def test_what_looks_like_a_script_is_text(browser: Browser, base: str) -> None:
    with looking(browser) as looked:
        opened(looked, base, "numbers")
        looked.page.get_by_role("button", name=SCRIPT).wait_for()
        opened(looked, base, "fates")
        looked.page.get_by_text(r'<script>alert("\xe9")</script>\x00').wait_for()
        looked.page.get_by_text("not JSON: <b>").first.wait_for()
        opened(looked, base, "releases")
        looked.page.get_by_text("<script>alert(1)</script>").first.wait_for()
        assert looked.page.evaluate("document.querySelectorAll('main script, main img, main b b').length") == 0
        assert looked.wrong == []


def test_the_policy_stops_a_script_that_got_in(browser: Browser, base: str) -> None:
    """A second wall: were text ever put in as markup, it would still not run, and nothing could be sent elsewhere."""
    with looking(browser) as looked:
        opened(looked, base, "now")
        looked.page.evaluate("""() => {
            const added = document.createElement('script'); added.textContent = 'window.got_in = 1';
            document.body.append(added);
            document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.got_in = 1">');
            return fetch('http://localhost:1/').catch(() => null);
        }""")
        assert looked.page.evaluate("window.got_in") is None
        assert sum("Content Security Policy" in said for said in looked.wrong) >= 3


def test_a_client_and_an_ad_are_chosen_and_a_point_is_explained(browser: Browser, base: str) -> None:
    with looking(browser) as looked:
        opened(looked, base, "numbers")
        looked.page.get_by_role("button", name="c1", exact=True).click()
        looked.page.get_by_text(re.compile("^c1; to ")).wait_for()
        looked.page.get_by_role("button", name="a1", exact=True).click()
        looked.page.get_by_text(re.compile("^c1, a1; to ")).wait_for()
        picture = looked.page.get_by_role("img", name=re.compile("^impressions, by minute, from .* final last"))
        time.sleep(3)
        picture.locator(".u-over").click()
        looked.page.get_by_role("heading", name=re.compile("What a1 of .* is made of")).wait_for()
        looked.page.get_by_text(re.compile("./kappa explain ad_ctr --client c1 --ad a1 --minute")).wait_for()
        looked.picture("point")
        assert looked.wrong == []


def test_two_versions_are_compared_and_differing_rows_are_shown(browser: Browser, base: str) -> None:
    with looking(browser) as looked:
        opened(looked, base, "releases")
        form = looked.page.get_by_role("form", name="Compare two versions")
        form.locator("select[name=left]").select_option(str(FIRST))
        form.locator("select[name=right]").select_option(str(SECOND))
        form.get_by_role("button", name="Compare").click()
        told = looked.page.get_by_text(re.compile("^NOT EQUAL: of ")).inner_text()
        assert f"are only in v{FIRST}, 0 only in v{SECOND}." in told
        looked.page.get_by_role("region", name="Rows that differ").get_by_text("clicks").first.wait_for()
        assert looked.against_access() == []
        looked.picture("comparison")
        looked.page.get_by_role("button", name="Earlier windows").click()
        looked.page.get_by_text(re.compile("^equal: of 0 windows")).wait_for()
        assert looked.wrong == []


def test_a_refused_record_can_be_downloaded_byte_by_byte(browser: Browser, base: str) -> None:
    with looking(browser) as looked:
        opened(looked, base, "fates")
        with looked.page.expect_download() as told:
            looked.page.get_by_role("link", name="download record 0/1").click()
        assert told.value.suggested_filename == "record-0-1.bin"
        assert told.value.path().read_bytes() == EVIL


def test_a_refused_record_can_be_tried_again_with_another_version(browser: Browser, base: str) -> None:
    """By a command: an artifact's code never runs inside Airflow's server."""
    with looking(browser) as looked:
        opened(looked, base, "fates")
        looked.page.get_by_role("button", name="try record 0/1 again").click()
        looked.page.get_by_text(f"./kappa explain ad_ctr --record 0/1 --version {SECOND}").wait_for()
        looked.page.locator("select[name=version]").select_option(f"quarantine v{FIRST}")
        looked.page.get_by_text(f"./kappa explain quarantine --record 0/1 --version {FIRST}").wait_for()
        assert looked.against_access() == []
        looked.picture("again")
        assert looked.wrong == []


def test_the_keyboard_reaches_everything_that_the_mouse_does(browser: Browser, base: str) -> None:
    with looking(browser) as looked:
        opened(looked, base, "numbers")
        names = "a[href], button, input, select"
        wanted = looked.page.evaluate(f"document.querySelectorAll('{names}').length")
        reached = set()
        for _ in range(wanted + 10):
            looked.page.keyboard.press("Tab")
            reached.add(looked.page.evaluate(
                f"[...document.querySelectorAll('{names}')].indexOf(document.activeElement)"
            ))  # fmt: skip
        assert len(reached - {-1}) == wanted


def test_a_red_line_is_told_and_while_postgres_is_away_what_is_shown_stays(
    browser: Browser, base: str, hand: ByHand
) -> None:
    with looking(browser) as looked:
        opened(looked, base, "now")
        hand.execute("insert into registry.red_line values ('ad_ctr', %s, 'query', now(), %s)", FIRST, "<i>why")
        told = looked.page.get_by_role("alert").filter(has_text=f"ad_ctr v{FIRST} query: <i>why")
        told.wait_for()
        assert MEANINGS[Cause.QUERY].readers in told.inner_text()
        told.evaluate("element => { element.seen = true; }")
        marked = looked.page.locator(".is-red").get_by_role("heading", level=2).all_inner_texts()
        assert marked == [f"ad_ctr v{FIRST} serves"]
        assert looked.against_access() == []
        time.sleep(3)
        assert told.evaluate("element => element.seen"), "an alert that is put in again is read aloud again"
        looked.picture("red")
        hand.execute("delete from registry.red_line")
        looked.page.get_by_text("Nothing is red").wait_for()
        looked.page.route("**/data/now", lambda route: route.fulfill(status=503, json={"refused": "Postgres is away."}))
        looked.page.get_by_text(re.compile(r"Postgres is away\. What is shown is of \d")).wait_for()
        assert looked.page.get_by_role("heading", name=f"ad_ctr v{FIRST}").count() == 1
