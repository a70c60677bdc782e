"""A question on the page *Replays* in a real browser: what was found, and the answer that goes to Airflow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kappa.core.installation.settings import Settings
from tests.plugins.kappa.console.conftest import SECOND
from tests.plugins.kappa.console.questions.test_report import DIFFERS, FOUND, MET, replay
from tests.rigs.browser import NARROW, SCHEMES, WIDE, Looked, looking
from tests.rigs.served_by_hand import FIRST, ByHand

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

pytestmark = [pytest.mark.rig, pytest.mark.long(minutes=0.2)]
CANDIDATE = {
    "job": "ad_ctr", "version": SECOND, "live": FIRST, "state": "CAUGHT_UP", "read": 1000, "unread": 4,
    "rate_per_second": 1.0, "eta_seconds": 0.0,
}  # fmt: skip
RUN = "**/api/v2/dags/reprocess_stream/dagRuns/run%201/"
OPEN = {"task_instance": {"task_id": "approve", "map_index": -1}, "response_received": False}
TAKEN = {"responded_by": {"id": "eve", "name": "eve"}, "chosen_options": ["Approve"]}
EVIL = {**DIFFERS, "severity": "warn", "rows": [{"ad_id": "<script>alert(1)</script>", "live_clicks": 1}]}


@pytest.fixture
def waiting(hand: ByHand, settings: Settings) -> dict[str, Any]:
    """What the page is told of a replay that waits, whose validation the registry has."""
    folder = settings.shared / "validations" / "one"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.html").write_text(f"<style>h1 {{color: green}}</style><h1>Validated</h1>{script(Path('x'))}")
    found = {**FOUND, "success": True, "folder": "validations/one", "results": [MET, EVIL]}
    return {
        "phase": "waiting for an answer", "parity": "exact", "from": None, "run_id": "run 1", "asked_by": "ada",
        "dag_id": "reprocess_stream", "replay_id": str(replay(hand, found)), "refused": None, "answer": None,
        "begun_at": "2026-11-26T10:00:00+00:00", "reason": "a new rule", "candidates": [CANDIDATE],
    }  # fmt: skip


def script(named: Path) -> str:
    """What must not run in a report."""
    return f"<script>parent.document.title = '{named}'</script>"


def asked(looked: Looked, base: str, waiting: dict[str, Any]) -> None:
    """The page with the question, once it has what was found."""
    looked.page.route("**/data/replays", lambda route: route.fulfill(json={"replays": [waiting], "ended": []}))
    looked.page.goto(f"{base}/replays")
    looked.page.get_by_text(
        "The validation passed: 12 rows compared, 1 of 2 expectations met; what is not met is there to warn"
    ).wait_for()
    looked.page.get_by_text("Only 12 rows were compared, which is little to go by").wait_for()
    looked.page.get_by_text("Validated 2026-11-26 10:05:00 UTC; what came later was not compared.").wait_for()


def airflow(looked: Looked, status: int = 200, told: Any = TAKEN) -> list[Any]:
    """What the page sends an Airflow that has the question open and answers so."""
    sent: list[Any] = []

    def answer(route: Route) -> None:
        sent.append((route.request.method, route.request.post_data_json))
        route.fulfill(status=status, json=told)

    looked.page.route(f"{RUN}hitlDetails", lambda route: route.fulfill(json={"hitl_details": [OPEN]}))
    looked.page.route(f"{RUN}taskInstances/approve/-1/hitlDetails", answer)
    return sent


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_the_validation_found_stands_beside_the_question(
    browser: Browser, base: str, waiting: dict[str, Any], scheme: str, size: tuple[int, int]
) -> None:
    with looking(browser, scheme, size) as looked:
        asked(looked, base, waiting)
        looked.page.get_by_text("clicks: 7 to 8").wait_for()
        looked.page.get_by_text("rows: 1 of 2").click()
        looked.page.get_by_text("<script>alert(1)</script>").wait_for()
        assert looked.against_access() == []
        looked.picture(f"question_{scheme}_{size[0]}")
        assert not looked.page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
        assert looked.wrong == []


def test_the_whole_report_is_shown_and_no_script_of_it_runs(
    browser: Browser, base: str, waiting: dict[str, Any]
) -> None:
    with looking(browser) as looked:
        asked(looked, base, waiting)
        looked.page.get_by_text("The whole report, as the validation wrote it").click()
        heading = looked.page.frame_locator("iframe").get_by_role("heading", name="Validated")
        heading.wait_for()
        assert heading.evaluate("it => getComputedStyle(it).color") == "rgb(0, 128, 0)"
        assert looked.page.title() == "Streams: Replays"
        looked.picture("question_report")


def test_an_answer_is_given_to_airflow_by_keyboard_and_only_once_it_is_meant(
    browser: Browser, base: str, waiting: dict[str, Any]
) -> None:
    with looking(browser) as looked:
        sent = airflow(looked)
        asked(looked, base, waiting)
        looked.page.get_by_role("button", name=f"Approve ad_ctr v{SECOND}").press("Enter")
        looked.page.get_by_text(f"ad_ctr v{SECOND} will serve instead of ad_ctr v{FIRST}.").wait_for()
        looked.picture("question_sure")
        looked.page.get_by_role("button", name="Not now").press("Enter")
        assert sent == []
        looked.page.keyboard.press("Enter")
        looked.page.keyboard.press("Enter")
        looked.page.get_by_text('Airflow took "Approve" from eve.').wait_for()
        assert sent == [("PATCH", {"chosen_options": ["Approve"], "params_input": {}})]
        assert looked.page.get_by_role("button", name="Approve").count() == 0, "it is answered"
        waiting["refused"] = {"at": "2026-11-26T10:05:00+00:00", "sentence": "ada asked, and ada would approve it."}
        again = looked.page.get_by_role("button", name=f"Approve ad_ctr v{SECOND}")
        again.wait_for()
        assert again.evaluate("it => it === document.activeElement")
        assert looked.wrong == []


@pytest.mark.parametrize(
    ("status", "told", "said"),
    [
        (403, {"detail": "Forbidden"}, "You may not answer here: Airflow's role of yours, or this question, does not"),
        (409, {"detail": "updated"}, "Somebody else has answered already. (409: updated)"),
        (401, {}, "Nobody is signed in any more: sign in to Airflow again. (401)"),
        (500, {}, "Airflow refused the answer. (500)"),
    ],
)
def test_a_refusal_of_airflow_is_said_in_words(
    browser: Browser, base: str, waiting: dict[str, Any], status: int, told: Any, said: str
) -> None:
    with looking(browser) as looked:
        airflow(looked, status, told)
        asked(looked, base, waiting)
        looked.page.get_by_role("button", name="Reject ad_ctr").click()
        looked.page.get_by_role("button", name="Yes, reject").click()
        looked.page.get_by_text(said).wait_for()
        looked.page.get_by_role("button", name="Reject ad_ctr").wait_for()


def test_an_answer_that_did_not_count_is_told_and_the_question_stays(
    browser: Browser, base: str, waiting: dict[str, Any]
) -> None:
    with looking(browser) as looked:
        asked(looked, base, waiting)
        button = looked.page.get_by_role("button", name="Approve ad_ctr")
        button.focus()
        waiting["refused"] = {"at": "2026-11-26T10:05:00+00:00", "sentence": "ada asked, and ada would approve it."}
        told = looked.page.get_by_role("alert").get_by_text(
            "An answer did not count, 2026-11-26 10:05:00 UTC: ada asked"
        )
        told.wait_for()
        assert button.evaluate("it => it === document.activeElement")
        waiting |= {"phase": "promoting", "answer": "approved", "answered_by": "eve"}
        looked.page.get_by_text("Answered: approved by eve.").wait_for()
        looked.page.get_by_text("Nobody is asked anything.").wait_for()
        assert looked.wrong == []


def test_a_question_that_no_run_of_airflow_asks_names_the_command(
    browser: Browser, base: str, waiting: dict[str, Any]
) -> None:
    with looking(browser) as looked:
        asked(looked, base, {**waiting, "dag_id": None})
        looked.page.get_by_text("./kappa promote ad_ctr --reason TEXT").wait_for()
        assert looked.page.get_by_role("button", name="Approve").count() == 0
