"""The page Numbers in a real browser, by the keyboard alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.plugins.kappa.console.conftest import opened
from tests.rigs.browser import Looked, looking

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.rig, pytest.mark.long(minutes=0.2)]
MINUTE = """fetch("data/numbers?client=c1&ad=a1").then((told) => told.json())
    .then((told) => new Date(told.points.at(-1).at * 1000).toISOString().slice(11, 16))"""
"""HH:MM, in UTC, of the newest point."""


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


def test_a_point_is_explained_by_its_minute(browser: Browser, base: str) -> None:
    with looking(browser) as looked:
        looked.page.goto(f"{base}/numbers?client=c1&ad=a1")
        looked.page.get_by_text(re.compile("^c1, a1; to ")).wait_for()
        minute = looked.page.evaluate(MINUTE)
        _explain(looked, minute)
        looked.page.get_by_role("heading", name=f"What a1 of {minute}:00 UTC is made of").wait_for()
        assert looked.page.evaluate("document.activeElement.textContent").startswith("What a1 of ")
        _explain(looked, "25:99")
        looked.page.get_by_text("No point of the plots is of 25:99 UTC: they go from ").wait_for()
        assert looked.against_access() == []
        looked.picture("minute")
        assert looked.wrong == []


def test_a_point_of_several_minutes_is_not_explained_but_says_what_to_choose(browser: Browser, base: str) -> None:
    with looking(browser) as looked:
        looked.page.goto(f"{base}/numbers?span=24h&client=c1&ad=a1")
        looked.page.get_by_text(re.compile("^c1, a1; to ")).wait_for()
        _explain(looked, looked.page.evaluate(MINUTE))
        looked.page.get_by_text("choose a span of 3 hours or less, and one of the ads below").wait_for()


def _explain(looked: Looked, minute: str) -> None:
    """Come to the field by the keyboard, type a minute into it, and press Enter."""
    for _ in range(40):
        if looked.page.evaluate("document.activeElement.name") == "minute":
            break
        looked.page.keyboard.press("Tab")
    else:
        pytest.fail("no key leads to the field of the minute")
    looked.page.keyboard.press("Control+A")
    looked.page.keyboard.type(minute)
    looked.page.keyboard.press("Enter")
