"""The page Now in a real browser: what it tells, how it begins and how it says what is red."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any

import pytest

from kappa.core.advice.size import Advice, Size
from kappa.status.causes import MEANINGS, Cause
from tests.plugins.kappa.console.conftest import opened
from tests.rigs.browser import looking
from tests.rigs.served_by_hand import FIRST, ByHand

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

pytestmark = [pytest.mark.rig, pytest.mark.long(minutes=0.2)]


def test_now_tells_what_a_batch_is_made_of_and_what_the_cluster_has(browser: Browser, base: str, hand: ByHand) -> None:
    hand.execute("update registry.heartbeat set action_ms = 310 where job = 'ad_ctr' and version = %s", FIRST)
    with looking(browser) as looked:
        opened(looked, base, "now")
        looked.page.get_by_text("310 ms to read and compute, 90 ms to commit; ").wait_for()
        made = looked.page.get_by_role("img", name="310 ms to read and compute, 90 ms to commit")
        widths = [float(part.get_attribute("width").rstrip("%")) for part in made.locator("rect").all()]
        assert widths == pytest.approx([77.5, 22.5])
        looked.page.get_by_text("5 of 12").wait_for()
        looked.page.get_by_text("12,288 of 24,576 MB").wait_for()
        looked.page.route("**/data/capacity", lambda route: route.fulfill(status=503, json={"refused": "It is away."}))
        looked.page.reload()
        looked.page.get_by_text("Not known now. It is away.").wait_for()
        looked.page.get_by_text("310 ms to read and compute").wait_for()


def test_all_versions_are_seen_at_a_glance_above_their_cards(browser: Browser, base: str) -> None:
    """Its words change where they stand: the table stays, and with it whoever is in it with the keyboard."""
    unread = {"is": 1_234}

    def changed(route: Route) -> None:
        told = route.fetch().json()
        told["versions"][0]["lag_events"] = unread["is"]
        route.fulfill(json=told)

    with looking(browser) as looked:
        looked.page.route("**/data/now", changed)
        opened(looked, base, "now")
        glance = looked.page.get_by_role("region", name="At a glance")
        first = glance.get_by_role("row").nth(1)
        first.get_by_text("1,234").wait_for()
        first.get_by_text("LIVE, stopped").wait_for()
        cards = looked.page.get_by_role("heading", name=re.compile(r"^\w+ v\d+ (serves|does not serve)$"))
        assert glance.get_by_role("row").count() == cards.count() + 1
        above, below = glance.bounding_box(), cards.first.bounding_box()
        assert above is not None
        assert below is not None
        assert above["y"] + above["height"] < below["y"]
        glance.focus()
        unread["is"] = 5_678
        first.get_by_text("5,678").wait_for()
        assert glance.evaluate("it => it === document.activeElement")
        assert looked.wrong == []


def test_a_question_that_waits_is_told_on_each_page(browser: Browser, base: str) -> None:
    with looking(browser) as looked:
        for page in ("now", "releases"):
            looked.page.route("**/data/now", lambda route: route.fulfill(json={**route.fetch().json(), "questions": 1}))
            opened(looked, base, page)
            looked.page.get_by_role("link", name="Replays: a question waits").wait_for()
        assert looked.wrong == []


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


def test_the_lag_is_drawn_in_records_and_in_time(browser: Browser, base: str) -> None:
    lag = {"at": [1_800_000_000, 1_800_000_010], "events": [5_000, 6_000], "seconds": [30.0, 90.0]}
    lines = {"minute": [], "read": [], "rows": [], "batches": [], "lag": lag}
    with looking(browser) as looked:
        told = {"hours": 3, "versions": {f"ad_ctr v{FIRST}": lines}}
        looked.page.route("**/data/hours", lambda route: route.fulfill(json=told))
        looked.page.goto(f"{base}/now")
        for what in (
            "unread records, as seen here, from .*: unread last 6,000, most 6,000",
            "wait of the oldest unread record, as seen here, from .*: wait last 90 s, most 90 s",
        ):
            looked.page.get_by_role("img", name=re.compile(f"^{what}$")).wait_for()
        assert looked.against_access() == []
        looked.picture("lag")
        assert looked.wrong == []


def test_what_pages_saw_is_drawn_as_lines_and_said_to_be_no_more_than_that(browser: Browser, base: str) -> None:
    seen = {"at": [1_800_000_000, 1_800_000_010], "p50": [None, 0.8], "p99": [None, 1.6], "state_rows": [5_000, 6_000],
            "batch_ms": [400, 500], "action_ms": [300, None]}  # fmt: skip
    lines = {"minute": [], "read": [], "batches": [], "lag": {"at": [], "events": [], "seconds": []}, "seen": seen}
    with looking(browser) as looked:
        told = {"hours": 3, "versions": {f"ad_ctr v{FIRST}": lines}}
        looked.page.route("**/data/hours", lambda route: route.fulfill(json=told))
        looked.page.goto(f"{base}/now")
        for what in (
            "append to visible, while a page was open, from .*: p50 last 800 ms, most 800 ms; p99 last 1.6 s, .*",
            "rows of state, while a page was open, from .*: rows last 6,000, most 6,000",
            "seconds of the newest batch, .*: all of it last 500 ms, most 500 ms; read and compute last 300 ms, .*",
        ):
            looked.page.get_by_role("img", name=re.compile(f"^{what}$")).wait_for()
        looked.picture("trends")
        assert looked.against_access() == []
        assert looked.wrong == []


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


def test_a_red_line_is_told_and_while_postgres_is_away_what_is_shown_stays(
    browser: Browser, base: str, hand: ByHand
) -> None:
    with looking(browser) as looked:
        opened(looked, base, "now")
        hand.execute("insert into registry.red_line values ('ad_ctr', %s, 'query', now(), %s)", FIRST, "<i>why")
        told = looked.page.get_by_role("alert").filter(has_text=f"ad_ctr v{FIRST} query: <i>why")
        told.wait_for()
        assert MEANINGS[Cause.QUERY].readers in told.inner_text()
        assert f'docs/runbook.md, "{MEANINGS[Cause.QUERY].runbook}"; first ./kappa status' in told.inner_text()
        told.evaluate("element => { element.seen = true; }")
        marked = looked.page.locator(".is-red").get_by_role("heading", level=2).all_inner_texts()
        assert marked == [f"ad_ctr v{FIRST} serves"]
        looked.page.get_by_text("no advice: it is red (query), which is to be mended first").wait_for()
        assert looked.against_access() == []
        time.sleep(3)
        assert told.evaluate("element => element.seen"), "an alert that is put in again is read aloud again"
        looked.picture("red")
        with looking(browser) as other:
            opened(other, base, "fates")
            other.page.get_by_role("link", name="Now: 1 red").wait_for()
            assert other.against_access() == []
            other.picture("red-elsewhere")
        hand.execute("delete from registry.red_line")
        looked.page.get_by_text("No stream is red").wait_for()
        assert looked.page.get_by_role("link", name="Now", exact=True).count() == 1
        looked.page.get_by_text(re.compile(r"^as of \d\d:\d\d:\d\d UTC$")).wait_for()
        looked.page.route("**/data/now", lambda route: route.fulfill(status=503, json={"refused": "Postgres is away."}))
        looked.page.get_by_text(re.compile(r"Postgres is away\. What is shown is of \d")).wait_for()
        assert looked.page.get_by_role("heading", name=f"ad_ctr v{FIRST}").count() == 1


def test_versions_that_are_red_for_one_cause_are_one_entry(browser: Browser, base: str) -> None:
    def line(of: str, cause: str, readers: str = "Numbers grow old.") -> dict[str, Any]:
        return {"what": f"{of} {cause}: no commit", "since": "2026-11-26T10:00:00+00:00", "line": cause, "of": of,
                "readers": readers, "runbook": f'docs/runbook.md, "{cause}"',
                "next": f"./kappa status --job {of.split()[0]}"}  # fmt: skip

    red = [line("ad_ctr v1", "stalled"), line("ad_ctr v1", "query"), line("client_spend v1", "stalled")]
    with looking(browser) as looked:
        looked.page.route("**/data/now", lambda route: route.fulfill(json={"red": red, "versions": [], "questions": 0}))
        looked.page.goto(f"{base}/now")
        looked.page.get_by_role("link", name="Now: 3 red").wait_for()
        both, one = looked.page.get_by_role("alert").all_inner_texts()
        assert both.startswith("red: stalled, 2 versions")
        assert both.count("no commit since 2026-11-26 10:00:00 UTC.") == 2
        assert both.count("Numbers grow old.") == 1
        assert 'What to do: docs/runbook.md, "stalled"; first ./kappa status --job ad_ctr' in both
        assert 'What to do: docs/runbook.md, "query"; first ./kappa status --job ad_ctr' in one
        assert one.startswith("red: ad_ctr v1 query: no commit")
        assert looked.against_access() == []
        looked.picture("one-cause")


def test_words_that_change_with_each_batch_change_within_an_alert_that_stays(browser: Browser, base: str) -> None:
    """An alert that is put in again is read aloud again; nor could anybody copy what it says."""
    late = {"what": "", "since": "2026-11-26T10:00:00+00:00", "runbook": "docs/runbook.md", "line": "late",
            "of": "ad_ctr v1", "readers": "Something is missing.", "next": "./kappa status"}  # fmt: skip
    asked: list[int] = []

    def grown(route: Route) -> None:
        asked.append(1)
        red = [{**late, "what": f"{len(asked)} of the records of the last 5 min are late"}]
        other = [{**late, "line": "query", "what": "it fails"}] if len(asked) > 4 else []
        route.fulfill(json={"red": red + other, "versions": [], "questions": 0})

    with looking(browser) as looked:
        looked.page.route("**/data/now", grown)
        looked.page.goto(f"{base}/now")
        told = looked.page.get_by_role("alert").filter(has_text="1 of the records")
        told.wait_for()
        alert = told.element_handle()
        assert alert is not None
        alert.evaluate("element => { element.seen = true; }")
        looked.page.get_by_role("alert").filter(has_text="it fails").wait_for()
        first = looked.page.get_by_role("alert").first
        assert first.evaluate("element => element.seen"), "the one that was there is not touched by another"
        assert "1 of the records" not in first.inner_text()
        assert not looked.page.get_by_text("No stream is red").is_visible()
        assert looked.against_access() == []


def test_a_server_that_takes_the_question_and_says_nothing_is_told(browser: Browser, base: str) -> None:
    with looking(browser) as looked:
        opened(looked, base, "now")
        looked.page.route("**/data/now", lambda _: None)
        silent = re.compile(r"^Airflow's server has not answered for 20 s\. What is shown is of \d")
        looked.page.get_by_text(silent).wait_for()
