"""What the page of a question gets of its validation: what is not met first, no file but a validation's own."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg.types.json import Jsonb

from kappa.console import history
from kappa.console.database import Database
from kappa.console.questions import report
from kappa.console.questions.report import NoReport
from kappa.core.replays import APPROVAL_REFUSED
from kappa.core.store.places import at
from tests.rigs.served_by_hand import FIRST, ByHand

pytestmark = pytest.mark.rig
MET = {"suite": "ad_ctr_minute", "expectation": "keys", "says": "each key is there once", "severity": "block",
       "success": True, "observed": "as expected", "count": 0, "rows": [], "problem": None}  # fmt: skip
DIFFERS = {
    **MET, "expectation": "equal", "says": "each row equals the live one", "success": False, "count": 2,
    "observed": "2 offending rows",
    "rows": [
        {"ad_id": "a1", "live_clicks": 1, "candidate_clicks": 2, "live_impressions": 9, "candidate_impressions": 9},
    ],
}  # fmt: skip
FIGURES = {"live_clicks": 7, "candidate_clicks": 8, "live_impressions": 2**60, "candidate_impressions": 2**60}
COMPARED = {
    "job": "ad_ctr",
    "live": 1,
    "candidate": 2,
    "since": None,
    "until": None,
    "compared": 12,
    "figures": FIGURES,
}
VALIDATED = datetime(2026, 11, 26, 10, 5, tzinfo=UTC)
FOUND = {"success": False, "crashed": False, "compared_rows": 12, "seconds": 1.5, "comparisons": [COMPARED],
         "results": [MET, DIFFERS]}  # fmt: skip


def replay(hand: ByHand, validation: dict[str, Any] | None) -> UUID:
    """One under way, which this was found of."""
    made = uuid4()
    hand.execute(
        "insert into registry.replay (replay_id, run_id, versions, live, parity, bands, approval, promote, asked_by, "
        "price, validation, validated_at) values (%s, %s, '{\"ad_ctr\": 2}', '{\"ad_ctr\": 1}', 'exact', '[]', 'ask', "
        "true, 'ada', '{}', %s, %s)",
        made, str(made), None if validation is None else Jsonb(validation), validation and VALIDATED,
    )  # fmt: skip
    return made


def test_what_is_not_met_comes_first_with_the_columns_that_differ(
    hand: ByHand, database: Database, tmp_path: Path
) -> None:
    told = report.read(database, at(tmp_path), replay(hand, FOUND))
    assert [one["expectation"] for one in told["results"]] == ["equal", "keys"]
    first = told["results"][0]
    assert (first["columns"], first["rows"]) == (["ad_id", "live_clicks", "candidate_clicks"], [["a1", 1, 2]])
    assert told["comparisons"][0]["totals"] == [{"measure": "clicks", "live": 7, "candidate": 8}]
    assert (told["success"], told["compared_rows"], told["file"]) == (False, 12, False)
    assert datetime.fromisoformat(told["validated_at"]) == VALIDATED


def test_the_whole_report_is_the_file_that_the_validation_left(
    hand: ByHand, database: Database, tmp_path: Path
) -> None:
    folder = tmp_path / "validations" / "one" / "attempt"
    folder.mkdir(parents=True)
    (folder / "report.html").write_bytes(b"<h1>Validated</h1>")
    made = replay(hand, {**FOUND, "folder": "validations/one/attempt"})
    assert report.read(database, at(tmp_path), made)["file"]
    assert report.page(database, at(tmp_path), made) == b"<h1>Validated</h1>"


def test_no_file_beside_those_of_validations_is_shown(hand: ByHand, database: Database, tmp_path: Path) -> None:
    (tmp_path / "validations").mkdir()
    (tmp_path / "report.html").write_text("another's")
    for folder in ("validations/..", "", str(tmp_path)):
        with pytest.raises(NoReport, match=r"there is no file report\.html of it in the store"):
            report.page(database, at(tmp_path), replay(hand, {**FOUND, "folder": folder}))


def test_a_replay_that_was_not_validated_or_is_none_says_so(hand: ByHand, database: Database, tmp_path: Path) -> None:
    with pytest.raises(NoReport, match="it was not validated"):
        report.read(database, at(tmp_path), replay(hand, None))
    with pytest.raises(NoReport, match="there is no such replay"):
        report.page(database, at(tmp_path), uuid4())


def test_what_is_under_way_names_the_dag_of_its_run_and_the_newest_answer_that_did_not_count(
    hand: ByHand, database: Database
) -> None:
    hand.execute("delete from registry.replay")
    made, proof, by_hand = (str(replay(hand, {**FOUND, "success": True})) for _ in range(3))
    hand.execute("update registry.replay set versions = %s", Jsonb({"ad_ctr": FIRST}))
    hand.execute("update registry.replay set promote = false where run_id = %s", proof)
    hand.execute("update registry.replay set run_id = 'in-place-x' where run_id = %s", by_hand)
    for sentence in ("the first", "the newest"):
        hand.execute(
            "insert into registry.audit (actor, action, job, version, run_id, evidence) values ('ada', %s, 'ad_ctr', "
            "2, %s, %s)", APPROVAL_REFUSED, made, Jsonb({"sentence": sentence}),
        )  # fmt: skip
    told = {held["run_id"]: held for held in history.under_way(database)["replays"]}
    assert {run: held["dag_id"] for run, held in told.items()} == {
        made: "reprocess_stream", proof: "prove_replay", "in-place-x": None,
    }  # fmt: skip
    assert (told[made]["refused"]["sentence"], told[proof]["refused"]) == ("the newest", None)


def test_of_a_store_that_is_away_the_rest_is_told_and_a_report_says_so(
    hand: ByHand, database: Database, tmp_path: Path
) -> None:
    store = at("hdfs://nobody:1/lab?http=http://127.0.0.1:1")
    made = replay(hand, {**FOUND, "folder": "validations/one/attempt"})
    assert not report.read(database, store, made)["file"]
    with pytest.raises(NoReport, match=r"can be shown: the store of .* cannot be used"):
        report.page(database, store, made)
