"""What the demo shows of what is served, when it takes the log to be read, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from cli.operator_connection import Reading
from examples.demo import served
from examples.demo.play import Laid
from examples.demo.served import BESIDE, NumbersDiffer, Served

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
FINAL = NOON - timedelta(hours=2, minutes=1)
LATENESS_MS = {"ad_ctr": 7_200_000, "client_spend": 7_200_000}
EXPECTED = {"all": (20_000, 80, 70_048_500)}


class Rows:
    """A reader's connection on which every query gives these rows."""

    def __init__(self, *rows: Mapping[str, Any]) -> None:
        self.rows = rows

    def execute(self, *_: object) -> Rows:
        return self

    def fetchall(self) -> list[Mapping[str, Any]]:
        return list(self.rows)


def final(**through: datetime | None) -> Reading:
    return cast("Reading", Rows(*({"job": job, "complete_through": at} for job, at in through.items())))


@pytest.mark.parametrize(
    ("through", "past"),
    [
        ({"ad_ctr": FINAL + timedelta(seconds=1), "client_spend": FINAL + timedelta(seconds=2)}, True),
        ({"ad_ctr": FINAL + timedelta(seconds=1), "client_spend": FINAL}, False),
        ({"ad_ctr": FINAL + timedelta(seconds=1), "client_spend": None}, False),
        ({}, False),
    ],
)
def test_all_is_read_once_every_job_is_past_the_last_append(through: dict[str, datetime | None], past: bool) -> None:
    assert served.read_past(final(**through), NOON, LATENESS_MS) is past


def test_a_job_that_waits_longer_for_late_records_is_final_later_and_has_read_as_far() -> None:
    through = {"ad_ctr": FINAL + timedelta(seconds=1), "client_spend": FINAL - timedelta(hours=1)}
    assert not served.read_past(final(**through), NOON, LATENESS_MS)
    assert served.read_past(final(**through), NOON, {**LATENESS_MS, "client_spend": 10_800_001})


def test_what_is_final_of_all_is_what_is_final_of_the_last() -> None:
    through = final(ad_ctr=NOON, client_spend=FINAL, quarantine=None)
    assert served.final_through_ms(through, ("ad_ctr", "client_spend")) == int(FINAL.timestamp() * 1000)
    assert served.final_through_ms(through, ("ad_ctr", "quarantine")) is None


def test_an_earlier_demos_numbers_are_not_this_ones() -> None:
    now, before = {"all": (5, 2, 9), "men": (1, 1, 1)}, {"all": (2, 1, 4), "men": (1, 1, 1)}
    assert served.difference(now, before) == {"all": (3, 1, 5)}


def test_numbers_that_are_not_the_logs_are_refused_with_both() -> None:
    served.check("ad_ctr_minute", EXPECTED, dict(EXPECTED))
    with pytest.raises(NumbersDiffer, match=r"ad_ctr_minute serves .*70048501.* add up to .*70048500"):
        served.check("ad_ctr_minute", EXPECTED, {"all": (20_000, 80, 70_048_501)})


def test_the_traffic_beside_is_a_line_below_the_log_that_is_no_part_of_it() -> None:
    table = served.numbers({"all": (10_000, 40, 5), BESIDE: (7, 0, 1)}, EXPECTED)
    assert list(table.columns[0].cells) == ["all", BESIDE]
    assert list(table.columns[-1].cells) == ["50%", ""]


def test_lines_stand_below_each_other_whatever_their_lengths() -> None:
    shown = served.lines({"all": (20_000, 80, 70_048_500), BESIDE: (7, 0, 1)}).splitlines()
    assert len({len(line) for line in shown}) == 1
    assert shown[1].split() == ["all", "20,000", "80", "0.4000%", "70.048500"]


def test_the_follower_of_a_run_can_keep_what_each_watch_said_last() -> None:
    one, other = (Served(cast("Reading", Rows()), Laid(0, 60_000, 0), "ad_ctr", terminal=False) for _ in range(2))
    assert {one: "a", other: "b"}[one] == "a"


def test_what_a_version_served_last_is_kept_when_another_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    now = {"version": 1, "clicks": 9}

    def played(_: object, since_ms: int, until_ms: int) -> served.Totals:
        return {"all": (0, now["clicks"], 0)}

    class Serving(Rows):
        def transaction(self) -> Any:
            return pytest.MonkeyPatch.context()

        def fetchall(self) -> list[Mapping[str, Any]]:
            return [{"job": "client_spend", "version": 7}, {"job": "ad_ctr", "version": now["version"]}]

    monkeypatch.setattr(served, "played", played)
    watch = Served(cast("Reading", Serving()), Laid(0, 60_000, 0), "ad_ctr", terminal=False)
    assert watch.note() == 1
    now |= {"version": 2, "clicks": 7}
    assert watch.note() == 2
    assert {version: totals["all"][1] for version, totals in watch.seen.items()} == {1: 9, 2: 7}
