"""What the console reads, on a real Postgres: the figures of the views, within its bounds, and nothing else."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from kappa.console import advice, explanation, fates, history, numbers
from kappa.console.database import Database
from kappa.console.now import Now
from kappa.core.advice.load import Free
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import JOBS, resolve
from kappa.status.causes import MEANINGS, Cause
from tests.plugins.kappa.console.conftest import EVIL, FINAL, OPEN, add_up_clients, batch, beat, promote, refuse
from tests.rigs.served_by_hand import FIRST, RULES, ByHand

pytestmark = pytest.mark.rig


@pytest.fixture(autouse=True)
def rows(hand: ByHand) -> None:
    """Two clients; a minute that is final and one that is not, whatever the test before left. Spend is beyond what a
    float holds."""

    def row(client: str, ad: str, at: Any, impressions: int, clicks: int, micros: int) -> dict[str, Any]:
        return {"client_id": client, "ad_id": ad, "window_start": at, "impressions": impressions, "clicks": clicks,
                "impression_micros": micros}  # fmt: skip

    hand.execute("delete from data.ad_ctr_minute where version = %s", FIRST)
    hand.execute("update registry.job_version set settings = %s where job = 'ad_ctr'", Jsonb(dict(RULES)))
    for job in ("ad_ctr", "client_spend"):
        hand.through(job, FIRST, OPEN)
    hand.rows("ad_ctr", FIRST, [
        row("c1", "a1", FINAL, 10, 1, 2**60 + 1), row("c1", "a2", FINAL, 30, 1, 7), row("c2", "a1", FINAL, 5, 0, 3),
        row("c1", "a1", OPEN, 4, 2, 9), row("c1", "a1", FINAL - timedelta(hours=2), 1, 0, 1),
    ])  # fmt: skip
    add_up_clients(hand)


def test_points_tell_what_is_final_from_what_is_not_and_money_to_the_micro(database: Database) -> None:
    told = numbers.read(database, numbers.choice("1h", "", ""))
    points = [(p["at"], p["is_final"], p["impressions"], p["clicks"], p["spend_micros"]) for p in told["points"]]
    assert points == [
        (int(FINAL.timestamp()), True, 45, 2, str(2**60 + 1 + 10)), (int(OPEN.timestamp()), False, 4, 2, "9"),
    ]  # fmt: skip
    assert told["points"][1]["ctr"] == 0.5
    assert told["complete_through"]["ad_ctr"] == int(OPEN.timestamp())


def test_the_greatest_come_first_and_how_many_there_are_is_told(database: Database) -> None:
    told = numbers.read(database, numbers.choice("1h", "", ""))
    assert [(row["client_id"], row["impressions"]) for row in told["clients"]["rows"]] == [("c1", 44), ("c2", 5)]
    ads = [(row["client_id"], row["ad_id"]) for row in told["ads"]["rows"]]
    assert ads == [("c1", "a1"), ("c1", "a2"), ("c2", "a1")]
    assert (told["clients"]["among"], told["ads"]["among"]) == (2, 3)


def test_a_client_and_an_ad_can_be_chosen_and_a_span(database: Database) -> None:
    one = numbers.read(database, numbers.choice("1h", "c1", "a1"))
    assert [point["impressions"] for point in one["points"]] == [10, 4]
    longer = numbers.read(database, numbers.choice("3h", "c1", "a1"))
    assert [point["impressions"] for point in longer["points"]] == [1, 10, 4]
    day = numbers.read(database, numbers.choice("24h", "c1", "a1"))
    assert day["step"] == 6
    assert sum(point["impressions"] for point in day["points"]) == 15


def test_more_ads_than_a_page_shows_are_counted_not_sent(hand: ByHand, database: Database) -> None:
    at = FINAL - timedelta(minutes=30)
    hand.rows("ad_ctr", FIRST, [
        {"client_id": "many", "ad_id": f"a{n:03}", "window_start": at, "impressions": 1, "impression_micros": n}
        for n in range(50)
    ])  # fmt: skip
    told = numbers.read(database, numbers.choice("1h", "many", ""))
    assert (len(told["ads"]["rows"]), told["ads"]["among"]) == (numbers.TOP, 50)
    assert told["ads"]["rows"][0]["ad_id"] == "a049"


def test_what_a_point_is_made_of(hand: ByHand, database: Database) -> None:
    told = explanation.read(database, "c1", "a1", int(FINAL.timestamp()))
    assert (told["served"]["impressions"], told["served"]["spend_micros"]) == (10, str(2**60 + 1))
    assert (told["version"]["version"], told["version"]["artifact"], told["release"]) == (FIRST, "a", None)
    assert told["command"] == "./kappa explain ad_ctr --client c1 --ad a1 --minute 2026-01-31T12:00Z"
    other = explanation.read(database, "c1", "a2", int(FINAL.timestamp()))["served"]
    assert (other["ad_id"], other["impressions"]) == ("a2", 30)
    assert explanation.read(database, "c9", "a1", int(FINAL.timestamp()))["served"] is None


def test_no_batch_is_taken_for_the_one_that_made_a_minute(hand: ByHand, database: Database) -> None:
    """The books tell when a batch was committed, not which minutes it read: with this one others were committed, and
    what it is made of was read later, by a replay and as a record came late."""
    old = time.time() - FINAL.timestamp()
    for number, age in ((1, old - 30), (2, old - 3_600), (3, 10)):
        batch(hand, number, age, counted=1)
    told = explanation.read(database, "c1", "a1", int(FINAL.timestamp()))
    hand.execute("delete from registry.batch; delete from registry.batch_total")
    assert told.keys() == {"served", "version", "release", "command"}


def test_now_tells_rates_latency_and_red_lines(hand: ByHand, settings: Settings, database: Database) -> None:
    clock = [time.time()]
    now = Now(database, settings, lambda: clock[0])
    hand.execute("update registry.heartbeat set action_ms = 310 where job = 'ad_ctr' and version = %s", FIRST)
    first = _version(now.read())
    assert first["action_ms"] == 310
    assert (first["serves"], first["state_rows"], first["batch_ms"], first["latency"]["p50"]) == (True, 12, 400, None)
    for number, age in ((1, 300), (2, 50), (3, 0)):
        batch(hand, number, age, counted=60, late=3)
    hand.execute(
        "update registry.progress set read_append_time = clock_timestamp() - interval '2 seconds' where version = %s",
        FIRST,
    )
    beat(hand, newest=OPEN + timedelta(seconds=30))
    clock[0] += 1
    second = _version(now.read())
    assert (second["minute_read"], second["minute_rows"], second["minute_batches"]) == (126, 4, 2)
    assert second["latency"]["records"] == 189
    assert 2 <= second["latency"]["p50"] <= second["latency"]["p99"]
    hand.through("ad_ctr", FIRST, OPEN)
    hand.execute("insert into registry.red_line values ('ad_ctr', %s, 'query', clock_timestamp(), %s)", FIRST, "<b>why")
    red = {line["what"]: line["readers"] for line in now.read()["red"]}
    assert red[f"ad_ctr v{FIRST} query: <b>why"] == MEANINGS[Cause.QUERY].readers
    hours = now.hours()["versions"][f"ad_ctr v{FIRST}"]
    assert (hours["read"][0], hours["batches"][0]) == (63, 1)
    assert hours["minute"][-1] < time.time() // 60 * 60, "the present minute is not over"
    assert [*range(hours["minute"][0], hours["minute"][-1] + 1, 60)] == hours["minute"]
    assert len(hours["lag"]["at"]) == 3
    hand.execute("delete from registry.red_line")
    hand.execute("delete from registry.batch; delete from registry.batch_total")


def test_now_has_advice_for_each_job_that_serves_with_its_numbers(hand: ByHand, database: Database) -> None:
    hand.execute(
        "update registry.job_version set settings = %s where job = 'ad_ctr'", Jsonb(resolve(JOBS["ad_ctr"], {}))
    )
    told = {each["job"]: each for each in advice.read(database, Free(1, 0))["advice"]}
    assert told.keys() == {"ad_ctr", "client_spend", "quarantine"}
    assert (told["ad_ctr"]["version"], told["ad_ctr"]["size"], told["ad_ctr"]["form"]) == (FIRST, "none", {})
    assert told["ad_ctr"]["sentence"].startswith("no advice: it has been as it is for")
    assert (told["ad_ctr"]["numbers"]["state_rows"], told["ad_ctr"]["numbers"]["free_cores"]) == (12, 1)


def test_fates_by_minute_add_up(hand: ByHand, database: Database) -> None:
    batch(hand, 7, 30, counted=5, duplicate=2, late=1)
    told = fates.read(database, "ad_ctr", "15m")
    [minute] = told["minutes"]
    assert (minute["read"], minute["counted"], minute["duplicate"], minute["late"]) == (8, 5, 2, 1)
    assert (told["totals"]["read"], told["totals"]["residual"]) == (8, 0)
    assert set(told["meanings"]) == set(told["fates"])
    hand.execute("delete from registry.batch; delete from registry.batch_total")


def test_fates_by_minute_are_of_the_version_that_served_then(hand: ByHand, database: Database) -> None:
    """A candidate reads the whole log before its promotion; what served before goes on reading after it."""
    candidate = FIRST + 5
    hand.stage("ad_ctr", candidate)
    for number, age, version, counted in (
        (1, 1_500, FIRST, 5), (1, 900, candidate, 4_000), (2, 600, FIRST, 6), (2, 120, candidate, 7), (3, 120, FIRST, 8)
    ):  # fmt: skip
        batch(hand, number, age, version, counted=counted)
    promote(hand, candidate, 300)
    told = fates.read(database, "ad_ctr", "1h")
    hand.serve("ad_ctr", ("-infinity", "infinity", FIRST))
    hand.execute("delete from registry.batch; delete from registry.batch_total; delete from registry.release")
    hand.execute("update registry.job_version set state = 'RETIRED' where version = %s", candidate)
    assert [minute["counted"] for minute in told["minutes"]] == [5, 6, 7]
    assert told["totals"]["version"] == candidate


def test_refused_records_are_shown_by_reason_and_their_bytes_safely(hand: ByHand, database: Database) -> None:
    refuse(hand, 1, "dead_letter", "not JSON", EVIL)
    refuse(hand, 2, "dead_letter", "no value", None)
    refuse(hand, 3, "late", "late by 3 h", b"{}")
    told = fates.refused(database, "15m", "", "")
    assert [(row["fate"], row["records"]) for row in told["reasons"]["rows"]] == [
        ("dead_letter", 1), ("dead_letter", 1), ("late", 1),
    ]  # fmt: skip
    by_offset = {row["offset"]: row["value"] for row in told["records"]}
    assert by_offset[1] == {"text": r'<script>alert("\xe9")</script>\x00', "bytes": len(EVIL), "cut": False}
    assert by_offset[2] is None
    only = fates.refused(database, "15m", "late", "late by 3 h")["records"]
    assert [row["offset"] for row in only] == [3]
    assert [row["offset"] for row in fates.refused(database, "15m", "", "no value")["records"]] == [2]
    assert fates.value(database, 0, 1) == EVIL
    with pytest.raises(fates.NoSuchRecord, match="offset 99"):
        fates.value(database, 0, 99)


def test_who_did_what(hand: ByHand, database: Database) -> None:
    hand.execute(
        "insert into registry.audit (actor, action, job, version, reason, run_id) "
        "values ('ada', 'deploy.done', 'ad_ctr', 1, 'first', 'run-1')"
    )
    told = history.releases(database, "ad_ctr")
    newest = told["audit"][0]
    assert (newest["actor"], newest["action"], newest["reason"]) == ("ada", "deploy.done", "first")
    assert {"job": "ad_ctr", "version": FIRST, "from_window": "-infinity", "to_window": "infinity"} in told["segments"]
    assert history.releases(database, "quarantine")["audit"] == []
    assert history.under_way(database) == {"replays": [], "ended": []}


def test_versions_that_can_be_asked_about_a_record(database: Database) -> None:
    told = history.versions(database)["versions"]
    assert {"job": "ad_ctr", "version": FIRST, "state": "LIVE"} in told


def test_a_replay_that_waits_for_an_answer_is_counted_until_it_has_one(
    hand: ByHand, settings: Settings, database: Database
) -> None:
    now = Now(database, settings)
    hand.execute(
        "insert into registry.replay (replay_id, run_id, versions, live, parity, bands, approval, promote, asked_by, "
        "price) values (gen_random_uuid(), 'run', '{}', '{}', 'exact', '[]', 'ask', true, 'ada', '{}')"
    )
    counted = [now.read()["questions"]]
    for change in (
        "validation = '{\"success\": false}'", "validation = '{\"success\": true}'",
        "answer = 'approved', answered_at = now()", "outcome = 'promoted', ended_at = now()",
    ):  # fmt: skip
        hand.execute(f"update registry.replay set {change} where run_id = 'run'")
        counted.append(now.read()["questions"])
    hand.execute("delete from registry.replay where run_id = 'run'")
    assert counted == [0, 0, 1, 0, 0]


def test_of_a_version_that_does_not_serve_readers_need_not_know(
    hand: ByHand, settings: Settings, database: Database
) -> None:
    candidate = FIRST + 7
    hand.stage("ad_ctr", candidate)
    hand.execute("insert into registry.red_line values ('ad_ctr', %s, 'query', clock_timestamp(), 'why')", candidate)
    red = {line["what"]: line["readers"] for line in Now(database, settings).read()["red"]}
    hand.execute("delete from registry.red_line")
    hand.execute("update registry.job_version set state = 'RETIRED' where version = %s", candidate)
    assert red[f"ad_ctr v{candidate} query: why"] == "None: nobody reads numbers of it."


def _version(told: dict[str, Any]) -> dict[str, Any]:
    [found] = [one for one in told["versions"] if (one["job"], one["version"]) == ("ad_ctr", FIRST)]
    return dict(found)
