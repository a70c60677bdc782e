"""The pages in a real browser, over a real Postgres: what they show, by mouse and keyboard, and to whom."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from kappa.console.app import PAGES
from tests.plugins.kappa.console.conftest import EVIL, SCRIPT, SECOND, opened
from tests.rigs.browser import NARROW, SCHEMES, WIDE, Looked, looking
from tests.rigs.served_by_hand import FIRST

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

pytestmark = [pytest.mark.rig, pytest.mark.long(minutes=0.2)]
NOTHING_FOUND = {"success": True, "compared_rows": 12, "comparisons": [], "results": [], "among": 0, "file": False}
NOT_EQUAL = re.compile(rf"^NOT EQUAL, ad_ctr v{FIRST} against v{SECOND}: of ")


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


def test_what_looks_like_a_script_is_text(browser: Browser, base: str) -> None:
    with looking(browser) as looked:
        opened(looked, base, "numbers")
        looked.page.get_by_role("button", name=SCRIPT).wait_for()
        opened(looked, base, "fates")
        looked.page.get_by_text(r'<script>alert("\xe9")</script>\x00').wait_for()
        looked.page.get_by_text("not JSON: <b>").first.wait_for()
        opened(looked, base, "releases")
        looked.page.get_by_role("region", name="Audit").get_by_text("<script>alert(1)</script>").wait_for()
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
        looked.page.get_by_text("and the batches that read them, this command tells from the log:").wait_for()
        looked.page.get_by_text(re.compile("./kappa explain ad_ctr --client c1 --ad a1 --minute")).wait_for()
        looked.picture("point")
        assert looked.wrong == []


def test_who_chooses_a_client_in_a_table_sees_its_days_and_its_ads_at_once(browser: Browser, base: str) -> None:
    """The button that was pressed has the keyboard, and goes with the table; the new one has it then."""
    with looking(browser) as looked:
        opened(looked, base, "numbers")
        looked.page.get_by_role("button", name="c1", exact=True).press("Enter")
        days = looked.page.get_by_role("region", name="Days of this client")
        days.wait_for()
        assert days.evaluate("element => element === document.activeElement")
        assert looked.wrong == []


def test_an_answer_to_an_earlier_choice_is_not_shown_as_the_present_one(browser: Browser, base: str) -> None:
    held: list[Route] = []
    with looking(browser) as looked:
        opened(looked, base, "numbers")
        looked.page.route("**/data/numbers?*", lambda route: held.append(route))
        _until(looked, lambda: len(held) == 1)
        looked.page.get_by_role("button", name="c1", exact=True).click()
        held[0].fulfill(json={**held[0].fetch().json(), "step": 7})
        _until(looked, lambda: len(held) == 2)
        assert looked.page.get_by_text("a point is 7 min").count() == 0
        held[1].continue_()
        looked.page.get_by_text(re.compile("^c1; to .* a point is 1 min")).wait_for()
        assert looked.wrong == []


def test_a_point_of_several_minutes_says_so(browser: Browser, base: str) -> None:
    with looking(browser) as looked:
        looked.page.goto(f"{base}/numbers?span=24h")
        for what in ("CTR", "spend", "impressions"):
            looked.page.get_by_role("img", name=re.compile(f"^{what}, each 6 min")).wait_for()
        assert looked.page.get_by_role("img", name=re.compile("by minute")).count() == 0


def test_what_serves_is_drawn_anew_while_somebody_reads_the_audit(browser: Browser, base: str) -> None:
    with looking(browser) as looked:
        opened(looked, base, "releases")
        looked.page.get_by_role("region", name="Audit").focus()
        audit = looked.page.get_by_role("region", name="Audit").element_handle()
        other = {"job": "ad_ctr", "version": 77, "from_window": "-infinity", "to_window": "infinity"}
        looked.page.route(
            "**/data/releases?*", lambda route: route.fulfill(json={**route.fetch().json(), "segments": [other]})
        )
        looked.page.get_by_role("region", name="Segments").get_by_text("v77").wait_for()
        assert looked.page.evaluate("it => it === document.activeElement", audit)


def test_two_versions_are_compared_and_differing_rows_are_shown(browser: Browser, base: str) -> None:
    with looking(browser) as looked:
        opened(looked, base, "releases")
        form = looked.page.get_by_role("form", name="Compare two versions")
        form.locator("select[name=left]").select_option(str(FIRST))
        form.locator("select[name=right]").select_option(str(SECOND))
        form.get_by_role("button", name="Compare").click()
        told = looked.page.get_by_text(NOT_EQUAL).inner_text()
        assert f"are only in v{FIRST}, 0 only in v{SECOND}." in told
        looked.page.get_by_role("region", name="Rows that differ").get_by_text("clicks").first.wait_for()
        assert looked.against_access() == []
        looked.picture("comparison")
        looked.page.get_by_role("button", name="Earlier windows").click()
        looked.page.get_by_text(re.compile(rf"^equal, ad_ctr v{FIRST} against v{SECOND}: of 0 windows")).wait_for()
        assert looked.wrong == []


def test_a_link_that_names_two_versions_shows_them_compared(browser: Browser, base: str) -> None:
    with looking(browser, size=NARROW) as looked:
        looked.page.goto(f"{base}/releases?job=ad_ctr&left={FIRST}&right={SECOND}")
        told = looked.page.get_by_text(NOT_EQUAL)
        told.wait_for()
        assert told.evaluate("it => it.getBoundingClientRect().top < innerHeight"), "it is below the fold"
        assert looked.wrong == []


@pytest.mark.parametrize(
    ("address", "told"),
    [
        (f"job=quarantine&left={FIRST}&right={SECOND}", "quarantine has no windows that could be compared; "),
        (f"job=ad_ctr&left={FIRST}&right=99", "ad_ctr v99 cannot be compared: there is no such version."),
    ],
)
def test_a_link_to_what_cannot_be_compared_compares_nothing_else(
    browser: Browser, base: str, address: str, told: str
) -> None:
    with looking(browser) as looked:
        looked.page.goto(f"{base}/releases?{address}")
        looked.page.get_by_text(told).wait_for()
        assert looked.page.get_by_text(re.compile("^(NOT EQUAL|equal)")).count() == 0
        assert looked.wrong == []


def test_a_replay_that_waits_says_what_is_to_be_decided_and_leads_to_its_numbers(browser: Browser, base: str) -> None:
    candidate = {
        "job": "ad_ctr", "version": SECOND, "live": FIRST, "state": "CAUGHT_UP", "read": 1000, "unread": 4,
        "rate_per_second": 1.0, "eta_seconds": 0.0,
    }  # fmt: skip
    replay = {
        "phase": "waiting for an answer", "parity": "exact", "from": None, "run_id": "run 1", "asked_by": "ada",
        "dag_id": "reprocess_stream", "replay_id": str(uuid4()), "refused": None, "answer": None,
        "begun_at": "2026-11-26T10:00:00+00:00", "reason": "a new rule", "candidates": [candidate],
    }  # fmt: skip
    with looking(browser) as looked:
        replay["candidates"] = [candidate, {**candidate, "job": "quarantine", "version": 3}]
        told = {"replays": [replay], "ended": []}
        looked.page.route("**/data/replays", lambda route: route.fulfill(json=told))
        looked.page.route("**/data/validation?*", lambda route: route.fulfill(json=NOTHING_FOUND))
        looked.page.goto(f"{base}/replays")
        looked.page.get_by_text("approved, they serve from then on; rejected, what serves stays.").wait_for()
        looked.page.get_by_text("parity exact (each row must equal the live one)").wait_for()
        looked.page.get_by_text("100.0\u00a0%: 1,000 records read, 4 unread, 1/s, it has caught up").first.wait_for()
        assert looked.against_access() == []
        looked.picture("question")
        looked.page.get_by_role("heading", name="quarantine v3 beside").wait_for()
        looked.page.get_by_role("link", name=f"Compare it with v{FIRST}, window by window").click()  # there is but one
        looked.page.get_by_text(NOT_EQUAL).wait_for()
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


def _until(looked: Looked, holds: Callable[[], bool]) -> None:
    """The page goes on meanwhile."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        looked.page.wait_for_timeout(50)
