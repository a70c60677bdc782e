"""The time line in a real browser: a bar for each version, signs for what was done, and what each one means."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from kappa.console.timeline import lanes
from tests.rigs.browser import NARROW, looking

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.rig, pytest.mark.long(minutes=0.2)]
DAY = "2026-11-2"


def _segments(version: int) -> list[dict[str, Any]]:
    return [{"job": "ad_ctr", "version": version, "from_window": "-infinity", "to_window": "infinity"}]


def _release(number: int, kind: str, at: str, before: int, after: int) -> dict[str, Any]:
    return {
        "release_id": number, "kind": kind, "jobs": ["ad_ctr"], "promoted_at": at, "promoted_by": "ada",
        "approved_by": "bob", "segments_before": _segments(before), "segments_after": _segments(after), "evidence": {},
    }  # fmt: skip


def _version(version: int, state: str, made: str, changed: str) -> dict[str, Any]:
    return {"job": "ad_ctr", "version": version, "state": state, "created_at": made, "updated_at": changed}


PROMOTED, BACK = f"{DAY}4T10:00:00+00:00", f"{DAY}5T10:00:00+00:00"
VERSIONS = [
    _version(1, "LIVE", f"{DAY}1T10:00:00+00:00", BACK),
    _version(2, "RETIRED", f"{DAY}4T09:00:00+00:00", f"{DAY}5T11:00:00+00:00"),
]
RELEASES = [_release(2, "roll-back", BACK, 2, 1), _release(1, "promotion", PROMOTED, 1, 2)]
REPLAYS = [{
    "versions": {"ad_ctr": 2}, "begun_at": f"{DAY}4T09:00:00+00:00", "ended_at": PROMOTED, "promote": True,
    "asked_by": "eve", "outcome": "promoted",
}]  # fmt: skip
CHANGES = [
    {"job": "ad_ctr", "version": 1, "verb": "rescale", "phase": phase, "begun_at": at, "ended_at": at}
    for phase, at in (("done", f"{DAY}2T10:00:00+00:00"), ("undone", f"{DAY}3T10:00:00+00:00"))
]
HISTORY = {
    "at": f"{DAY}6T10:00:00+00:00",
    "lanes": lanes(VERSIONS, RELEASES, _segments(1), REPLAYS, CHANGES),
    "releases": RELEASES,
    "versions": [],
    "segments": _segments(1),
    "audit": [
        {"at": f"{DAY}2T10:00:00+00:00", "actor": "ada", "action": "rescale.done", "job": "ad_ctr", "version": 1,
         "reason": "more of it", "run_id": "run 1", "evidence": {}},
    ],
}  # fmt: skip


def test_a_lane_tells_when_a_version_was_there_when_it_served_and_what_was_done(browser: Browser, base: str) -> None:
    with looking(browser) as looked:
        looked.page.route("**/data/releases?**", lambda route: route.fulfill(json=HISTORY))
        looked.page.goto(f"{base}/releases")
        lane = looked.page.get_by_role("img", name=re.compile("^was there from 2026-11-21 10:00:00 to now; served "))
        lane.wait_for()
        assert lane.get_attribute("aria-label").endswith(
            "served 2026-11-21 10:00:00 to 2026-11-24 10:00:00; 2026-11-25 10:00:00 to now; answers for windows the "
            "beginning to open; rescale, 2026-11-23 10:00:00 to 2026-11-23 10:00:00: undone, it runs as before"
        )
        assert lane.locator("rect.served").count() == 2
        told = [sign.text_content() for sign in lane.locator("text").all()]
        assert told == [
            "2026-11-22 10:00:00 rescale.done by ada: more of it●",
            "rescale, 2026-11-23 10:00:00 to 2026-11-23 10:00:00: undone, it runs as before✕",
            "2026-11-25 10:00:00 roll-back, release 2, by ada▼",
        ]  # fmt: skip
        gone = looked.page.get_by_role("img", name=re.compile("to 2026-11-25 11:00:00; served "))
        assert gone.locator("text.sign").text_content() == "2026-11-24 10:00:00 promotion, release 1, by ada▲"
        assert gone.locator("rect.replayed").text_content() == (
            "ad_ctr v2, replay of eve, 2026-11-24 09:00:00 to 2026-11-24 10:00:00: promoted"
        )
        assert looked.page.get_by_role("cell", name="roll-back", exact=True).count() == 1
        assert looked.against_access() == []
        looked.picture("timeline")
        assert looked.wrong == []


def test_a_span_leaves_out_what_ended_before_it(browser: Browser, base: str) -> None:
    with looking(browser, size=NARROW) as looked:
        looked.page.route("**/data/releases?**", lambda route: route.fulfill(json=HISTORY))
        looked.page.goto(f"{base}/releases")
        line = looked.page.get_by_role("region", name="Time line, UTC")
        line.get_by_role("cell", name="ad_ctr v2", exact=True).wait_for()
        looked.page.get_by_label("time line of").select_option(label="the last hour")
        line.get_by_role("cell", name="ad_ctr v2", exact=True).wait_for(state="detached")
        assert line.locator("rect.served").count() == 1
        assert looked.against_access() == []
        looked.picture("timeline-narrow")
