"""The time line of the page Releases: lanes from versions, releases and segments."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from kappa.console.timeline import kind, lanes

START = datetime(2026, 3, 1, tzinfo=UTC)


def at(hours: float) -> datetime:
    return START + timedelta(hours=hours)


def version(number: int, made: float, state: str = "PREVIOUS", changed: float = 99, job: str = "ad_ctr") -> Any:
    return {"job": job, "version": number, "state": state, "created_at": at(made), "updated_at": at(changed)}


def serving(*numbers: int, job: str = "ad_ctr") -> list[dict[str, Any]]:
    """Segments of which the last one is open."""
    edges = ["-infinity", *(f"2026-03-0{n + 2} 00:00:00+00" for n in range(len(numbers) - 1)), "infinity"]
    return [
        {"job": job, "version": number, "from_window": edges[n], "to_window": edges[n + 1]}
        for n, number in enumerate(numbers)
    ]


def release(hours: float, before: list[dict[str, Any]], after: list[dict[str, Any]]) -> dict[str, Any]:
    return {"promoted_at": at(hours), "segments_before": before, "segments_after": after}


def spans(*pairs: tuple[float, float | None]) -> list[dict[str, datetime | None]]:
    return [{"since": at(since), "until": None if until is None else at(until)} for since, until in pairs]


def test_what_was_never_released_serves_since_it_was_made() -> None:
    [lane] = lanes([version(1, 0, "LIVE")], [], serving(1))
    assert lane == {
        "job": "ad_ctr", "version": 1, "state": "LIVE", "made": at(0), "ended": None, "served": spans((0, None)),
        "windows": [{"from": None, "to": None}], "replays": [], "changes": [],
    }  # fmt: skip


def test_a_lane_has_the_windows_that_its_version_answers_for() -> None:
    first, second = lanes([version(1, 0), version(2, 1)], [], serving(1, 2))
    edge = datetime(2026, 3, 2, tzinfo=UTC)
    assert first["windows"] == [{"from": None, "to": edge}]
    assert second["windows"] == [{"from": edge, "to": None}]


def test_a_replay_lies_in_the_lanes_of_its_candidates_and_a_change_in_that_of_its_version() -> None:
    replay = {"versions": {"ad_ctr": 2, "client_spend": 5}, "begun_at": at(1), "ended_at": None, "promote": True,
              "asked_by": "ada", "outcome": None}  # fmt: skip
    change = {"job": "ad_ctr", "version": 1, "verb": "rescale", "phase": "undone", "begun_at": at(2), "ended_at": at(3)}
    first, second = lanes([version(1, 0), version(2, 1)], [], serving(1), [replay], [change])
    assert (first["replays"], second["changes"]) == ([], [])
    assert second["replays"] == [{"since": at(1), "until": None, "is": "replay", "by": "ada", "outcome": "under way"}]
    assert first["changes"] == [{"since": at(2), "until": at(3), "verb": "rescale", "undone": True}]
    proof = {**replay, "promote": False, "ended_at": at(4), "outcome": "equal"}
    [_, proved] = lanes([version(1, 0), version(2, 1)], [], serving(1), [proof])
    assert proved["replays"] == [{"since": at(1), "until": at(4), "is": "proof", "by": "ada", "outcome": "equal"}]


def test_a_promotion_that_is_rolled_back_lets_the_first_version_serve_twice() -> None:
    moves = [release(4, serving(1, 2), serving(1)), release(2, serving(1), serving(1, 2))]
    first, second = lanes([version(2, 1, "PREVIOUS"), version(1, 0, "LIVE")], moves, serving(1))
    assert (first["version"], first["served"]) == (1, spans((0, 2), (4, None)))
    assert (second["version"], second["served"], second["ended"]) == (2, spans((2, 4)), None)


def test_what_is_retired_ends_when_it_was_retired() -> None:
    kept, gone = lanes([version(2, 3, "LIVE"), version(3, 4, "RETIRED", 5)], [], serving(2))
    assert (kept["ended"], gone["ended"], gone["served"]) == (None, at(5), [])


def test_jobs_that_are_released_together_have_lanes_of_their_own() -> None:
    both = [*serving(1), *serving(1, job="client_spend")]
    moved = [*serving(1), *serving(1, 2, job="client_spend")]
    versions = [version(1, 0), version(1, 0, job="client_spend"), version(2, 1, job="client_spend")]
    told = {
        (lane["job"], lane["version"]): lane["served"] for lane in lanes(versions, [release(2, both, moved)], moved)
    }
    assert told == {
        ("ad_ctr", 1): spans((0, None)), ("client_spend", 1): spans((0, 2)), ("client_spend", 2): spans((2, None)),
    }  # fmt: skip


def test_a_first_deployment_lets_its_version_serve_from_then_on() -> None:
    first = release(1, [], serving(1))
    [lane] = lanes([version(1, 0, "LIVE")], [first], serving(1))
    assert (lane["made"], lane["served"]) == (at(0), spans((1, None)))
    assert kind(first) == "deployment"


def test_a_release_to_an_older_version_is_a_rollback() -> None:
    assert kind(release(2, serving(1), serving(1, 2))) == "promotion"
    assert kind(release(2, serving(1, 2), serving(1))) == "roll-back"
    assert kind(release(2, serving(1), serving(1))) == "promotion"
