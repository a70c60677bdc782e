"""The page Releases in a real browser: its tables are of the job that was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.rigs.browser import looking

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.rig, pytest.mark.long(minutes=0.2)]
AT = "2026-11-24T10:00:00+00:00"


def _release(number: int, *jobs: str) -> dict[str, Any]:
    return {"release_id": number, "kind": "promotion", "jobs": jobs, "promoted_at": AT, "promoted_by": "ada",
            "approved_by": None, "segments_before": [], "segments_after": [], "evidence": {}}  # fmt: skip


def _version(job: str, version: int) -> dict[str, Any]:
    return {"job": job, "version": version, "state": "LIVE", "desired": "running", "created_at": AT, "updated_at": AT,
            "starts_at": None, "artifact": "a", "result_digest": "r", "pinned_by": None}  # fmt: skip


HISTORY = {
    "at": AT, "lanes": [], "segments": [], "audit": [],
    "releases": [_release(1, "ad_ctr"), _release(2, "client_spend"), _release(3, "ad_ctr", "client_spend")],
    "versions": [_version("ad_ctr", 1), _version("ad_ctr", 2), _version("client_spend", 1)],
}  # fmt: skip


def test_captions_count_the_rows_of_the_chosen_job(browser: Browser, base: str) -> None:
    with looking(browser) as looked:
        looked.page.route("**/data/releases?**", lambda route: route.fulfill(json=HISTORY))
        looked.page.goto(f"{base}/releases")
        captions = looked.page.locator("caption")
        captions.get_by_text("Versions: 3", exact=True).wait_for()
        looked.page.locator("select[name=job]").select_option("client_spend")
        looked.page.get_by_role("region", name="Versions").get_by_text("ad_ctr v2").wait_for(state="detached")
        told = [text for text in captions.all_inner_texts() if text.startswith(("Releases", "Versions"))]
        assert told == ["Releases: 2", "Versions: 1"]
        assert looked.wrong == []
