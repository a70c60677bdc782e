"""A question answered from the console's page, in a real browser and a real Airflow: who may, who may not, and what the
audit has of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg
import pytest

from kappa.airflow_sign_in import sign_in
from kappa.core.replays import APPROVAL_REFUSED
from stack.layout import Layout
from tests.rigs.asking_airflow import WAITING, AskingAirflow, password, simple
from tests.rigs.browser import Looked, chromium, looking
from tests.rigs.served_by_hand import by_hand

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FrameLocator, Route

pytestmark = [pytest.mark.rig, pytest.mark.long(minutes=2)]
ASKS = "asks"
"""The DAG of the rig that asks; what the console is told of a replay names the one that replays."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def asking(browser: Browser, parts: Layout, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskingAirflow]:
    with by_hand(parts.settings) as hand:
        hand.execute("insert into registry.output values ('asked', 'asked')")
        for version in (1, 2):
            hand.execute(
                "insert into registry.job_version (job, version, state, artifact, state_digest, result_digest, "
                "settings, topic, topic_id, start_offsets) values ('asked', %s, 'CAUGHT_UP', 'a', 's', 'r', '{}', "
                "'ad_events', 'id', '{}')", version,
            )  # fmt: skip
        with simple(parts, tmp_path_factory.mktemp("airflow")) as started:
            yield started
        for table in ("job_version", "output"):
            hand.execute(f"delete from registry.{table} where job = 'asked'")


@contextmanager
def seen_by(asking: AskingAirflow, browser: Browser, person: str) -> Iterator[tuple[Looked, FrameLocator]]:
    """The page *Replays* in Airflow's frame, as this person sees it."""
    base = asking.layout.settings.airflow_url
    token = sign_in(base, person, password(asking.layout, person)).token

    def of_the_rig(route: Route) -> None:
        told = route.fetch().json()
        route.fulfill(json={**told, "replays": [{**held, "dag_id": ASKS} for held in told["replays"]]})

    with looking(browser, cookie={"name": "_token", "value": token, "url": base}) as looked:
        looked.page.route("**/data/replays", of_the_rig)
        looked.page.goto(f"{base}/plugin/streams")
        console = looked.page.frame_locator("iframe")
        console.get_by_role("link", name=re.compile("^Replays")).click()
        console.get_by_text("The validation passed: 12 rows compared").wait_for()
        yield looked, console


def answer(console: FrameLocator, option: str) -> None:
    console.get_by_role("button", name=f"{option} asked v2").click()
    console.get_by_role("button", name=f"Yes, {option.lower()}").click()


def audit(asking: AskingAirflow) -> list[tuple[str, str]]:
    """(action, who) of what was answered, in order."""
    with psycopg.connect(asking.layout.settings.dsn("kappa_registry")) as connection:
        return connection.execute("select action, actor from registry.audit order by audit_id").fetchall()


def test_airflow_decides_who_answers_and_the_audit_has_who_it_was(asking: AskingAirflow, browser: Browser) -> None:
    run = asking.asked(ASKS, "operator")
    with seen_by(asking, browser, "viewer") as (_, console):
        answer(console, "Approve")
        console.get_by_text(re.compile(r"^You may not answer here: .* \(403: Forbidden\)$")).wait_for()
    with seen_by(asking, browser, "operator") as (looked, console):
        answer(console, "Approve")
        console.get_by_text('Airflow took "Approve" from operator.').wait_for()
        console.get_by_text(
            re.compile(r"^An answer did not count, .* operator would approve it: somebody else")
        ).wait_for()
        looked.picture("answer_refused")
    asking.until(run, WAITING.__contains__)
    with seen_by(asking, browser, "approver") as (looked, console):
        answer(console, "Approve")
        console.get_by_text("Answered: approved by approver.").wait_for()
        console.get_by_text("Nobody is asked anything.").wait_for()
        looked.picture("answer_taken")
    assert asking.ended(run) == {"stage": "success", "approve": "success", "promote": "success"}
    assert audit(asking) == [(APPROVAL_REFUSED, "operator"), ("replay.answered", "approver")]
