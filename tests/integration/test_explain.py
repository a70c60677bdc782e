"""Lineage on real parts: a minute and a day, explained by the very records that the log has of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.rigs.running_stack import Stack

pytestmark = pytest.mark.integration

MEASURES = ("impressions", "clicks", "spend_micros")


@pytest.fixture(scope="module")
def told(deployed: Stack) -> Stack:
    """The stack with traffic that has duplicates and repeated clicks, read to its end."""
    deployed.produce(51, 10_000, "--full-speed")
    deployed.reconcile()
    return deployed


def test_a_minute_is_its_records_and_their_fates(told: Stack) -> None:
    (row,) = told.query(
        "select client_id, ad_id, window_start, impressions, clicks, spend_micros, duplicates, repeated_clicks "
        "from serving.ad_ctr_minute where duplicates > 0 and repeated_clicks > 0 and clicks > 0 "
        "order by duplicates + repeated_clicks desc, window_start limit 1"
    )
    client, ad, window, *measures = row
    key = ("--client", client, "--ad", ad, "--minute", window.astimezone(UTC).isoformat())
    found = json.loads(told.kappa("explain", "ad_ctr", *key, "--json").out)
    shown = [found["served"][name] for name in (*MEASURES, "duplicates", "repeated_clicks")]
    assert shown == [int(measure) for measure in measures]
    assert found["matches"] is True
    _is_the_sum_of_its_records(found)
    assert found["fates"]["duplicate"]["records"] == measures[3]
    assert found["fates"]["repeated_click"]["records"] == measures[4]
    _is_behind(told, found, "ad_ctr")
    assert "equal: " in told.kappa("explain", "ad_ctr", *key).out


def test_a_day_is_the_clients_own_and_its_records(told: Stack) -> None:
    client = told.query(
        "select client_id from serving.ad_ctr_minute group by 1 "
        "having sum(duplicates) > 0 and sum(repeated_clicks) > 0 order by sum(spend_micros) desc limit 1"
    )[0][0]
    account = ("--currency", "INR", "--valid-from", "2020-01-01", "--reason", "explained")
    told.kappa("client", "set", client, "--time-zone", "Asia/Kolkata", *account)
    day, *measures = told.query(
        "select budget_day, impressions, clicks, spend_micros from serving.client_spend_day "
        "where client_id = %s order by impressions desc limit 1", client
    )[0]  # fmt: skip
    found = json.loads(
        told.kappa("explain", "client_spend", "--client", client, "--day", day.isoformat(), "--json").out
    )
    assert [found["served"][name] for name in MEASURES] == [int(measure) for measure in measures]
    assert found["served"]["time_zone"] == "Asia/Kolkata"
    assert found["made_by"][0]["from_window"].endswith("18:30:00+00:00")
    assert found["matches"] is True
    _is_the_sum_of_its_records(found)
    _is_behind(told, found, "client_spend")


def test_a_served_number_that_was_tampered_with_is_found(told: Stack) -> None:
    client, ad, window = told.query("select client_id, ad_id, window_start from serving.ad_ctr_minute "
                                    "where spend_micros > 0 order by window_start limit 1")[0]  # fmt: skip
    change = (
        "update data.ad_ctr_minute set impression_micros = impression_micros + %s "
        "where (client_id, ad_id, window_start) = (%s, %s, %s)"
    )
    told.query(change, 1, client, ad, window, role="postgres")
    try:
        key = ("--client", client, "--ad", ad, "--minute", window.astimezone(UTC).isoformat())
        said = told.kappa("explain", "ad_ctr", *key, expect=1)
    finally:
        told.query(change, -1, client, ad, window, role="postgres")
    assert "NOT EQUAL" in said.out
    assert "spend_micros must be" in said.err


def test_a_key_that_is_not_there_is_refused(told: Stack) -> None:
    said = told.kappa("explain", "client_spend", "--client", "nobody", "--day", "2026-01-31", expect=1)
    assert "client nobody, day 2026-01-31" in said.err


def _is_the_sum_of_its_records(found: dict[str, Any]) -> None:
    """Counted records add up to the served spend; each other one names one that counted in its partition before it."""
    counted = [each for each in found["records"] if each["fate"] == "counted"]
    assert sum(each["cost_micros"] for each in counted) == found["served"]["spend_micros"]
    assert len(counted) == found["served"]["impressions"] + found["served"]["clicks"]
    places = {(each["partition"], each["offset"]) for each in counted}
    again = [each for each in found["records"] if each["fate"] in ("duplicate", "repeated_click")]
    assert again
    for each in again:
        assert (each["partition"], each["first"]) in places
        assert each["first"] < each["offset"]


def _is_behind(told: Stack, found: dict[str, Any], job: str) -> None:
    """The version, its release and code are those of the registry; its batches read its records."""
    (made,) = found["made_by"]
    version, artifact = told.query(
        "select version, artifact from ops.segments join ops.versions using (job, version) "
        "where job = %s and to_window = 'infinity'", job
    )[0]  # fmt: skip
    assert (made["version"], made["artifact"]) == (version, artifact)
    assert made["release"]["evidence"]["first_deployment"] is True
    assert made["code"].startswith("built ")
    assert datetime.fromisoformat(made["batches"][0]["committed_at"]) <= datetime.now(UTC)
    for record in found["records"]:
        ranges = [batch["offsets"].get(str(record["partition"]), [0, 0]) for batch in made["batches"]]
        assert sum(first <= record["offset"] < end for first, end in ranges) == 1
