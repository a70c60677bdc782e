"""The replays under way, as `status` has them: what each is at, and how far its candidates have come."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kappa.core.replays import SETTLING_SECONDS
from kappa.status.replays import by_replay

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


def row(job: str = "ad_ctr", **changed: Any) -> dict[str, Any]:
    """A candidate that catches up."""
    held = {
        "replay_id": "one", "run_id": "run-1", "asked_by": "admin", "reason": "30 s", "starts_ms": 1_800_000_000_000,
        "parity": "exact", "approval": "ask", "promote": True, "answer": None, "answered_by": None, "validated": None,
        "begun_at": AT, "job": job, "version": 2, "live": 1, "state": "CATCHING_UP", "read": 6_000, "unread": 4_000,
        "read_lately": 6_000, "reading_s": 5.0, "idle_s": 1.0, "arrivals_per_s": 200.0, "age_s": 20.0,
        "forecast": {"start_s": 50.0, "per_s": 1_200.0},
    }  # fmt: skip
    return {**held, **changed}


def test_the_candidates_of_a_replay_are_told_together() -> None:
    first, second = by_replay([row(), row("client_spend"), row(replay_id="two", starts_ms=None)])
    assert [c["job"] for c in first["candidates"]] == ["ad_ctr", "client_spend"]
    assert (first["from"], second["from"]) == ("2027-01-15T08:00:00+00:00", None)


@pytest.mark.parametrize(
    ("unread", "rate", "eta"),
    [(4_000, 1_200.0, 18.0), (900, 1_200.0, 15.0), (4_000, 0.0, 20.7), (0, 0.0, 15.0)],
)
def test_the_time_left_is_over_the_speed_by_which_it_comes_nearer(unread: int, rate: float, eta: float | None) -> None:
    """Expected are 1,200/s; after five seconds of its own it counts a third. Fifteen are for the looks to agree."""
    (replay,) = by_replay([row(unread=unread, read_lately=5 * rate)])
    candidate = replay["candidates"][0]
    assert (candidate["rate_per_second"], candidate["eta_seconds"]) == (rate, pytest.approx(eta, abs=0.1))


@pytest.mark.parametrize(("age", "eta"), [(20.0, 30 + 10 + SETTLING_SECONDS), (60.0, 4 + SETTLING_SECONDS)])
def test_before_it_has_read_anything_what_was_measured_says_how_long_it_takes(age: float, eta: float) -> None:
    (replay,) = by_replay([row(read=0, idle_s=None, read_lately=0, reading_s=0.0, age_s=age)])
    assert replay["candidates"][0]["eta_seconds"] == pytest.approx(eta)


@pytest.mark.parametrize("changed", [{"arrivals_per_s": 1_300.0}, {"idle_s": 32.0}])
def test_who_comes_no_nearer_or_is_long_overdue_has_no_time_left_that_could_be_told(changed: dict[str, Any]) -> None:
    (replay,) = by_replay([row(**changed)])
    assert replay["candidates"][0]["eta_seconds"] is None


def test_until_a_launch_has_written_down_what_is_expected_of_it_an_assumption_stands_in() -> None:
    (replay,) = by_replay([row(read=0, idle_s=None, read_lately=0, reading_s=0.0, age_s=1.0, forecast=None)])
    assert replay["candidates"][0]["eta_seconds"] == pytest.approx(29 + (4_000 + 29 * 200) / 6_800 + SETTLING_SECONDS)


def test_what_has_caught_up_is_not_on_its_way() -> None:
    (replay,) = by_replay([row(state="CAUGHT_UP")])
    assert replay["candidates"][0]["eta_seconds"] == 0.0


@pytest.mark.parametrize(
    ("changed", "phase"),
    [
        ({}, "catching up"),
        ({"state": "STAGED"}, "catching up"),
        ({"state": "CAUGHT_UP"}, "validating"),
        ({"state": "CAUGHT_UP", "validated": True}, "waiting for an answer"),
        ({"state": "CAUGHT_UP", "validated": True, "approval": "auto"}, "promoting"),
        ({"state": "CAUGHT_UP", "validated": True, "answer": "approved"}, "promoting"),
        ({"state": "CAUGHT_UP", "validated": True, "answer": "rejected"}, "ending"),
        ({"state": "CAUGHT_UP", "validated": True, "promote": False}, "ending"),
        ({"state": "CAUGHT_UP", "validated": False}, "ending"),
    ],
)
def test_what_a_replay_is_at_is_told_by_what_was_written_last(changed: dict[str, Any], phase: str) -> None:
    (replay,) = by_replay([row(**changed)])
    assert replay["phase"] == phase
