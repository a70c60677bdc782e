"""What serves is held against the suites: a row that was altered by hand is named and red, until it is mended or its
version serves no more."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from gate import accounting
from psycopg.rows import dict_row

from kappa.core.audit import Author
from kappa.core.installation.settings import Settings
from kappa.core.validation import Span
from kappa.status import red_lines
from kappa.status.causes import Cause
from kappa.verbs.replay.validation import PROGRAM, Ended, Runner, run_program
from kappa.verbs.validate import steps as validate
from kappa.verbs.validate.steps import NotAsExpected, NotLookedAt
from stack.alerts.findings import cause_of
from stack.alerts.memory import MemoryFile
from stack.layout import Layout
from tests.great_expectations.gate.desk import LIVE, MINUTE, Desk, ad_rows, client_rows, minute
from tests.rigs.served_by_hand import ByHand, by_hand
from tests.stack.alerts.receiver import receiver
from tests.stack.alerts.watch import WELL, Watch

pytestmark = pytest.mark.rig
BY = Author("airflow", "run-1")
EVER = ("-infinity", "infinity")
ROW = "client_id = 'acme' and ad_id = 'shoe' and window_start = %s and version = %s"


@pytest.fixture
def hand(parts: Layout) -> Iterator[ByHand]:
    """Both jobs live, three ads in each of five windows, of which all are final."""
    with Desk(parts.settings).prepared() as desk, by_hand(parts.settings) as hand:
        rows = ad_rows(range(5))
        desk.write("ad_ctr", LIVE, rows)
        desk.write("client_spend", LIVE, client_rows(rows))
        desk.write("quarantine", LIVE, [], offsets=30)
        for job in ("ad_ctr", "client_spend", "quarantine"):
            hand.serve(job, (*EVER, LIVE))
        yield hand


def in_process(command: list[str], folder: Path, seconds: float) -> Ended:
    """The program without a process of its own, which would spend most of its time on imports."""
    found = importlib.util.spec_from_file_location("validate", PROGRAM)
    assert found is not None
    assert found.loader is not None
    program = importlib.util.module_from_spec(found)
    found.loader.exec_module(program)
    return Ended(program.main(command[2:]), "")


def looked(settings: Settings, run: Runner = in_process, last_try: bool = True) -> str:
    """What a run says."""
    return validate.carry_out(settings, validate.plan_validate(settings, 3), BY, last_try, run)


def red(settings: Settings) -> list[dict[str, Any]]:
    """The red lines about a validation, as status and monitor read them."""
    options: Any = {"autocommit": True, "row_factory": dict_row, "options": "-c timezone=UTC"}
    with psycopg.connect(settings.dsn("kappa_operator"), **options) as connection:
        return [line for line in red_lines.read(connection, 168) if line["line"] == "validation"]


def alter(hand: ByHand, number: int, by: int) -> None:
    """Other clicks in a row that is served, and as many that were seen, so that the row by itself looks well."""
    change = f"clicks = clicks + {by}, seen_clicks = seen_clicks + {by}"
    hand.execute(f"update data.ad_ctr_minute set {change} where {ROW}", minute(number), LIVE)


def messages(home: Path, line: dict[str, Any]) -> list[dict[str, Any]]:
    """What somebody is told while the line is there, and when it is there no more."""
    MemoryFile(home).folder.mkdir()
    with receiver() as hook:
        watch = Watch(home, hook)
        watch.see(60, replace(WELL, red=[line]))
        watch.see(60, WELL)
        return hook.told


def audited(hand: ByHand) -> list[tuple[str, bool]]:
    found = hand.execute(
        "select job, (evidence ->> 'success')::boolean from registry.audit where action = 'validate.validated' "
        "and version = %s order by audit_id", LIVE,
    )  # fmt: skip
    return [(job, success) for job, success in found]


def test_a_row_that_was_altered_by_hand_is_named_and_red_until_it_is_mended(hand: ByHand, tmp_path: Path) -> None:
    settings = hand.settings
    hand.execute("delete from registry.audit where version = %s", LIVE)
    assert looked(settings, run_program).startswith(
        "what serves is as it must be: ad_ctr v9001 (31 Jan 09:08 to 31 Jan 12:08 UTC)"
    )
    assert red(settings) == []
    alter(hand, 2, 7)
    with pytest.raises(NotAsExpected, match="client_id acme, window_start 2026-01-31T12:02:00"):
        looked(settings)
    [line] = red(settings)
    assert line["of"] == "ad_ctr v9001"
    assert cause_of(line) is Cause.VALIDATION
    assert "rows and batches agree in events and money" in line["what"]
    report = settings.shared / line["what"].rpartition("report: ")[2]
    assert "what is served is not as it must be" in report.read_text()
    begun, over = messages(tmp_path, line)
    assert begun["title"] == "red: what is served does not pass its validation: ad_ctr v9001"
    assert "client_id acme, window_start 2026-01-31T12:02:00" in begun["message"]
    assert "Next: ./kappa reconcile" in begun["message"]
    assert over["title"].startswith("over: ")
    with pytest.raises(NotAsExpected):
        looked(settings)
    assert red(settings)[0]["since"] == line["since"], "it is the same incident"
    alter(hand, 2, -7)
    looked(settings)
    looked(settings)
    assert red(settings) == []
    spend, refused, ads = ("client_spend", True), ("quarantine", True), ("ad_ctr", True)
    assert audited(hand) == [ads, spend, refused, ("ad_ctr", False), ("ad_ctr", False), ads]


def test_it_is_over_once_another_version_serves(hand: ByHand) -> None:
    alter(hand, 2, 7)
    with pytest.raises(NotAsExpected):
        looked(hand.settings)
    assert red(hand.settings)
    hand.stage("ad_ctr", LIVE + 1)
    hand.serve("ad_ctr", ("-infinity", "2026-01-31 12:00+00", LIVE), ("2026-01-31 12:00+00", "infinity", LIVE + 1))
    assert red(hand.settings) == []


def test_time_alone_mends_nothing(hand: ByHand) -> None:
    """What did not pass is looked at again, when its windows are older than the hours that a look begins with, too."""
    alter(hand, 2, 7)
    with pytest.raises(NotAsExpected):
        looked(hand.settings)
    hand.execute(
        "update registry.progress set read_append_time = read_append_time + interval '2 days' where version = %s", LIVE
    )
    spans = {one.job: one.windows for one in validate.plan_validate(hand.settings, 3)}
    first, through = minute(8) - 180 * MINUTE, minute(8 + 2 * 1440)
    assert spans["ad_ctr"] == Span(first, through)
    assert spans["client_spend"] == Span(through - 180 * MINUTE, through)


def test_the_expectations_are_those_of_the_gate(hand: ByHand) -> None:
    changes = {
        "impressions = impressions + 2": "no more impressions were counted than seen",
        "click_micros = -1": "click_micros is not negative",
        "window_start = window_start + interval '1 s'": "windows start at an edge, none before T",
        "impression_micros = 99000000000000000": "no event costs more than 10^12 micros",
    }
    for number, change in enumerate(changes):
        hand.execute(f"update data.ad_ctr_minute set {change} where {ROW}", minute(number), LIVE)
    with pytest.raises(NotAsExpected, match="and 4 more"):
        looked(hand.settings)
    [line] = red(hand.settings)
    report = (hand.settings.shared / line["what"].rpartition("report: ")[2]).read_text()
    wrong = report.partition("<h2>Suite")[0]
    assert [said for said in changes.values() if said not in wrong] == []


def test_what_is_not_final_or_older_is_not_looked_at(hand: ByHand) -> None:
    """But for the sums of all rows, which are of no window."""
    hand.through("ad_ctr", LIVE, minute(4))
    alter(hand, 4, 7)
    with pytest.raises(NotAsExpected) as raised:
        looked(hand.settings)
    assert "ad_ctr and client_spend hold the same" not in str(raised.value)
    hand.through("ad_ctr", LIVE, minute(5))
    with pytest.raises(NotAsExpected, match="ad_ctr and client_spend hold the same"):
        looked(hand.settings)


def test_more_rows_than_can_be_added_up_each_hour_are_left_out(hand: ByHand, monkeypatch: pytest.MonkeyPatch) -> None:
    for table in ("ad_ctr_minute", "client_spend_minute"):
        seen = f"update data.{table} set seen_clicks = seen_clicks + 1 where version = %s and client_id = 'bolt'"
        hand.execute(seen, LIVE)
    with pytest.raises(NotAsExpected, match="rows and batches agree"):
        looked(hand.settings)
    monkeypatch.setattr(accounting, "MOST_ROWS_SUMMED", -2)
    assert looked(hand.settings).startswith("what serves is as it must be")


def test_a_silent_hour_and_an_empty_installation_pass(hand: ByHand) -> None:
    for job in ("ad_ctr", "client_spend"):
        hand.through(job, LIVE, minute(10_000))
    assert looked(hand.settings).startswith("what serves is as it must be")
    for job in ("ad_ctr", "client_spend", "quarantine"):
        hand.through(job, LIVE, None)
    assert looked(hand.settings).startswith("looked at nothing")


def test_a_look_that_came_to_no_end_is_tried_again_and_then_red(hand: ByHand) -> None:
    with pytest.raises(NotLookedAt):
        looked(hand.settings, last_try=False, run=lambda *_: Ended(-9, "killed"))
    assert red(hand.settings) == []
    with pytest.raises(NotAsExpected):
        looked(hand.settings, run=lambda *_: Ended(-9, "killed"))
    assert {line["of"] for line in red(hand.settings)} == {"ad_ctr v9001", "client_spend v9001", "quarantine v9001"}
