"""The console where people find it: in a real browser, in the frame of a real Airflow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kappa.airflow.plugin import PAGE
from kappa.airflow_sign_in import password_of, sign_in
from tests.rigs.api_server import VIEWER, ApiServer
from tests.rigs.browser import SCHEMES, Looked, looking

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FrameLocator

pytestmark = pytest.mark.long(minutes=1)
AWAY = "Postgres at .* gave no answer"
"""This Airflow has no registry, so each page says so."""


@pytest.fixture
def looked(request: pytest.FixtureRequest, browser: Browser, server: ApiServer) -> Iterator[Looked]:
    """A page of a person who may look and nothing else."""
    base = server.settings.airflow_url
    token = sign_in(base, VIEWER, password_of(server.settings, VIEWER)).token
    scheme = getattr(request, "param", "light")
    with looking(browser, scheme, cookie={"name": "_token", "value": token, "url": base}) as looked:
        yield looked


def framed(looked: Looked, server: ApiServer) -> FrameLocator:
    """The console in its frame, once it has asked for its data."""
    looked.page.goto(f"{server.settings.airflow_url}/plugin/streams")
    frame = looked.page.frame_locator("iframe")
    frame.get_by_text(re.compile(AWAY)).wait_for()
    return frame


@pytest.mark.parametrize("looked", SCHEMES, indirect=True)
def test_it_stands_in_a_frame_and_works_there(looked: Looked, server: ApiServer) -> None:
    frame = framed(looked, server)
    frame.get_by_role("link", name="Replays").click()
    frame.get_by_role("heading", name="Under way").wait_for()
    looked.picture("frame")
    assert [said for said in looked.wrong if PAGE in said or "Content Security Policy" in said] == []


def test_a_verb_leads_out_of_the_frame_to_its_dag(looked: Looked, server: ApiServer) -> None:
    framed(looked, server).get_by_role("link", name="rescale", exact=True).click()
    looked.page.wait_for_url(f"{server.settings.airflow_url}/dags/rescale_stream")
    assert looked.page.evaluate("window.top === window")


def test_whoever_is_not_signed_in_any_more_is_told_so(looked: Looked, server: ApiServer) -> None:
    frame = framed(looked, server)
    looked.page.context.clear_cookies()
    frame.get_by_text("Nobody is signed in any more: sign in to Airflow again.").wait_for()


def test_it_is_reached_from_the_navigation_of_any_page(looked: Looked, server: ApiServer) -> None:
    looked.page.goto(f"{server.settings.airflow_url}/dags")
    looked.page.get_by_role("link", name="Streams").click()
    looked.page.frame_locator("iframe").get_by_role("heading", name="Now", exact=True).wait_for()
    looked.picture("navigation")
