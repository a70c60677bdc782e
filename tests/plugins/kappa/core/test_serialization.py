"""Values are written as JSON has it and read back by their types; what an earlier release wrote is read, too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kappa.code.artifacts import Artifact
from kappa.core.changes import Change, Outcome, RunsAs
from kappa.core.replays import Replay
from kappa.core.serialization import Serializable
from kappa.core.validation import Band
from kappa.core.versions import Segment, Version
from kappa.verbs.promote.steps import MovePlan
from kappa.verbs.repair.plan import RepairPlan
from kappa.verbs.replay.catch_up import Pursuit
from kappa.verbs.replay.plan import ReprocessPlan
from kappa.verbs.replay.progress import Progress
from kappa.verbs.rescale.plan import RescalePlan

AT = datetime(2026, 1, 31, 9, 30, 0, 5, tzinfo=UTC)
OLD, NEW = ({"artifact": "a1", "settings": {"state_partitions": n}, "generation": 3} for n in (1, 2))
START = {"asked": "earliest", "starts_ms": 60000, "offsets": {"0": 5, "1": 7}, "first_appended": {"0": 59000}}
CANDIDATE = {
    "job": "ad_ctr", "version": 2, "live_version": 1, "artifact": "a1", "settings": {"cadence_ms": 1000},
    "topic": "ad_events", "topic_id": "t1", "state_digest": "s", "result_digest": "r", "start": START,
    "records": {"0": 3, "1": 4}, "bytes": 200,
    "differences": [{"what": "x", "old": "1", "new": "2", "why": "y"}], "live_starts_ms": None,
}  # fmt: skip
PRICE = {
    "records": 10, "bytes": 200, "eta_seconds": 31.5, "disk_bytes": 4000, "state_keys": None,
    "retention_slack_seconds": None, "speeds": {"ad_ctr": 7000.0}, "assumed": ["ad_ctr"],
}  # fmt: skip
SEGMENTS = [{"job": "ad_ctr", "from_window": "-infinity", "to_window": "infinity", "version": 1}]
STATE = {"provider": "p", "operators": ["op"], "partitions": 4, "rows": None, "bytes": 7, "pending": False}
EARLIER: list[tuple[type[Serializable], dict[str, Any]]] = [
    (RunsAs, OLD),
    (Band, {"column": "clicks", "direction": "down", "most_permille": 50}),
    (Segment, SEGMENTS[0]),
    (Outcome, {"ok": False, "sentence": "no", "evidence": {"refusal": "NotHeld"}}),
    (Progress, {"state": "ready", "done": 1, "total": 2, "rate_per_s": 3.5, "eta_s": None, "sentence": "s"}),
    (
        ReprocessPlan,
        {
            "candidates": [CANDIDATE], "starts_ms": 60000, "price": PRICE, "parity": "declared",
            "bands": ["clicks:down:50", "spend:any"], "approval": "ask", "promote": True, "reason": None,
            "free_cores": 2, "why": ["because"], "steps": ["stage"],
        },
    ),
    (
        RescalePlan,
        {
            "job": "ad_ctr", "version": 1, "action": "repartition", "old": OLD, "new": NEW, "state": STATE,
            "free_cores": 2, "free_memory_mb": 3000, "cluster": "1 host", "expected_pause_seconds": 35.0,
            "why": ["because"], "desired": "running", "steps": ["begin"],
        },
    ),
    (
        RepairPlan,
        {"findings": [{"job": "ad_ctr", "version": 1, "kind": "gone", "sentence": "s", "action": "restart"}]},
    ),
    (
        MovePlan,
        {
            "hand": {
                "jobs": ["ad_ctr"], "before": SEGMENTS, "after": SEGMENTS, "targets": {"ad_ctr": 2},
                "olds": {"ad_ctr": 1}, "from_window": "-infinity", "undoes": None,
            },
            "said": [["a", "b"]], "eta_seconds": 3.5,
        },
    ),
]  # fmt: skip
"""What the release before this module wrote, member by member: in the registry, in files, in XComs of open runs."""


@pytest.mark.parametrize(("kind", "written"), EARLIER, ids=lambda value: getattr(value, "__name__", ""))
def test_what_an_earlier_release_wrote_is_read_and_written_as_it_was(
    kind: type[Serializable], written: dict[str, Any]
) -> None:
    read = kind.from_json(json.loads(json.dumps(written)))
    again = read.to_json()
    assert {**again, "steps": None} == {**written, "steps": None}
    assert kind.from_json(again) == read


def test_moments_of_an_earlier_release_are_read() -> None:
    held = {"versions": {"ad_ctr": 2}, "expected": 10, "began": AT.isoformat(), "deadline": AT.isoformat()}
    assert Pursuit.from_json(held) == Pursuit({"ad_ctr": 2}, 10, AT, AT)
    manifest = {"digest": "d", "created_at": AT.isoformat(), "commit": None,
                "jobs": {"ad_ctr": {"state_shape": "s", "result_code": "r"}}}  # fmt: skip
    artifact = Artifact.from_json({**manifest, "folder": "/artifacts/d"})
    assert (artifact.folder, artifact.created_at, artifact.environment) == (Path("/artifacts/d"), AT, {})
    assert artifact.code("ad_ctr").parts == {}
    assert "folder" not in artifact.to_json()


def test_a_row_of_the_registry_is_read_as_psycopg_gives_it() -> None:
    keys = {"job": "ad_ctr", "version": 1, "desired": "running"}
    row = {**keys, "change_id": UUID(int=1), "verb": "rescale", "run_id": "r", "old": OLD, "new": NEW, "phase": "held",
           "marks": {"warm": "x"}, "ended_at": None}  # fmt: skip
    assert Change.from_json(row).new == RunsAs("a1", {"state_partitions": 2}, 3)
    version = {**keys, **dict.fromkeys(("artifact", "state_digest", "result_digest", "topic", "topic_id"), "x"),
               "state": "LIVE", "settings": {}, "starts_at": AT, "start_offsets": {"0": 7}}  # fmt: skip
    assert (Version.from_json(version).start_offsets, Version.from_json(version).starts_at) == ({0: 7}, AT)
    replay = {"replay_id": UUID(int=2), "run_id": "r", "versions": {"ad_ctr": 2}, "live": {"ad_ctr": 1},
              "starts_ms": None, "parity": "exact", "bands": [], "approval": "ask", "promote": True, "asked_by": "a",
              "reason": None, "price": PRICE, "validation": {"success": True}, "answer": None, "answered_by": None,
              "outcome": None, "ended": False, "begun_at": AT, "validated_at": AT}  # fmt: skip
    assert Replay.from_json(replay).validation == {"success": True}


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Sample(Serializable):
    number: int
    colours: tuple[Colour, ...] = ()
    by_number: Mapping[int, float] = field(default_factory=dict)


def test_a_value_is_plain_json() -> None:
    written = Sample(1, (Colour.RED,), {7: 0.5}).to_json()
    assert written == {"number": 1, "colours": ["red"], "by_number": {"7": 0.5}}
    assert type(written["colours"][0]) is str, "an enum would be known to whoever imports it only"


@pytest.mark.parametrize(
    ("held", "says"),
    [
        ({}, "missing required field `number`"),
        ({"number": "1"}, r"Expected `int`, got `str` - at `\$.number`"),
        ({"number": 1, "colours": ["blue"]}, r"Invalid enum value 'blue' - at `\$.colours\[0\]`"),
    ],
)
def test_what_is_no_such_value_is_refused_by_the_name_of_the_field(held: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Sample.from_json(held)


def test_a_member_that_there_is_no_field_for_is_passed_over() -> None:
    assert Sample.from_json({"number": 1, "of_a_later_release": 2}) == Sample(1)
