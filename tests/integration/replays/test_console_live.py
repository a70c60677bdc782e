"""The console of a running stack as people use it: they sign in, look, ask what a number is of, approve a replay."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kappa.airflow_sign_in import password_of
from tests.integration.beside import load
from tests.integration.replays.attempts import ANSWERER, reprocessing
from tests.integration.replays.serving import live
from tests.rigs.browser import Looked, chromium, looking
from tests.rigs.running_stack import Stack

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FrameLocator

pytestmark = [pytest.mark.integration, pytest.mark.long(minutes=5)]
JOB = "client_spend"
EXPLAINED = "ad_ctr"
DRY_RUN_SECONDS = 120
START_SECONDS = 240
"""For the driver of a candidate, until it reads; on a busy machine."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


def test_a_person_looks_asks_what_a_number_is_made_of_and_approves_a_replay(grown: Stack, browser: Browser) -> None:
    before = live(grown)[JOB]
    with load(grown, random.randrange(10**6), rate=60), looking(browser) as looked:
        _sign_in(looked, grown)
        console = _opened(looked, grown)
        console.get_by_text("No stream is red.").wait_for()
        looked.picture("live-now")
        _explain(looked, console)
        with reprocessing(grown, JOB, reason="looked at") as attempt:
            console.get_by_role("link", name="Replays").click()
            under_way = console.get_by_text(re.compile(f"{JOB} v.* beside v{before}: CATCHING_UP"))
            under_way.wait_for(timeout=1_000 * START_SECONDS)
            looked.picture("live-replay")
            attempt.until_asked()
            _approve(looked, console)
    assert attempt.replay.answer == "approved"
    assert attempt.replay.answered_by == ANSWERER
    assert live(grown)[JOB] == attempt.replay.versions[JOB]
    grown.kappa("retire", JOB, str(before), "--reason", "test")


def test_a_rescale_is_filled_in_from_the_console_and_its_dry_run_says_what_it_would_do(
    grown: Stack, browser: Browser
) -> None:
    reason = f"looked at {random.randrange(10**6)}"
    with looking(browser) as looked:
        _sign_in(looked, grown)
        _opened(looked, grown).get_by_role("link", name="rescale", exact=True).click()
        looked.page.wait_for_url(re.compile(r"/dags/rescale_stream"))
        looked.page.get_by_role("button", name="Trigger").first.click()
        form = looked.page.get_by_role("dialog")
        form.locator("input[name=element_partitions]").fill("4")
        form.locator("input[name=element_reason]").fill(reason)
        form.locator("input[name=element_dry_run]").press("Space")
        assert form.locator("input[name=element_dry_run]").is_checked()
        looked.picture("live-rescale")
        form.get_by_role("button", name="Trigger", exact=True).click()
        looked.page.wait_for_url(re.compile("/dags/rescale_stream/runs/"))
        would = re.compile(rf"^dry run: {EXPLAINED} v\d+ would be restarted, its state in other partitions \(")
        grown.until("the dry run's note is on its page", lambda: _after_a_reload(looked, would), DRY_RUN_SECONDS)
        looked.picture("live-rescale-said")
    assert grown.query("select count(*) from ops.audit where reason = %s", reason) == [(0,)]


def _after_a_reload(looked: Looked, text: re.Pattern[str]) -> bool:
    """Whether a page of Airflow says something; an open one does not look for a run's note again."""
    looked.page.reload()
    looked.page.get_by_text("Logical Date").first.wait_for()
    return int(looked.page.get_by_text(text).count()) > 0


def _sign_in(looked: Looked, stack: Stack) -> None:
    looked.page.goto(f"{stack.settings.airflow_url}/")
    looked.page.locator("input[name=username]").fill(ANSWERER)
    looked.page.locator("input[name=password]").fill(password_of(stack.settings, ANSWERER))
    looked.page.get_by_role("button", name="Sign in").click()


def _opened(looked: Looked, stack: Stack) -> FrameLocator:
    """The console, by its entry in Airflow's navigation."""
    looked.page.get_by_role("link", name="Streams").click()
    return looked.page.frame_locator("iframe")


def _explain(looked: Looked, console: FrameLocator) -> None:
    """From a client to an ad to one of its minutes."""
    console.get_by_role("link", name="Numbers").click()
    _first_of(console, "Clients by spend")
    console.get_by_role("table", name="Days of this client").wait_for()
    _first_of(console, "Ads by spend")
    console.get_by_text(re.compile(r"^\S+, \S+; to ")).wait_for()
    picture = console.get_by_role("img", name=re.compile("^impressions, by minute"))
    looked.picture("live-numbers")
    picture.locator(".u-over").click()
    console.get_by_role("heading", name=re.compile("What .* is made of")).wait_for()
    console.get_by_text(re.compile(f"./kappa explain {EXPLAINED} --client ")).wait_for()
    looked.picture("live-point")


def _first_of(console: FrameLocator, table: str) -> None:
    """Choose the greatest of them."""
    console.get_by_role("table", name=re.compile(f"^{table}")).get_by_role("button").first.click()


def _approve(looked: Looked, console: FrameLocator) -> None:
    """The answer, beside what the validation found."""
    console.get_by_text(re.compile("^The validation passed: ")).wait_for()
    console.get_by_text("The whole report, as the validation wrote it").wait_for()
    looked.picture("live-question")
    console.get_by_role("button", name=re.compile("^Approve ")).click()
    console.get_by_role("button", name="Yes, approve").click()
    console.get_by_text(f'Airflow took "Approve" from {ANSWERER}.').wait_for()
    looked.picture("live-answered")
