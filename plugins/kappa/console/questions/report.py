"""What the validation of a replay found, as its question has it on the page *Replays*; and its whole report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

from kappa.console.database import Database
from kappa.console.text import plain
from kappa.core.refusals import Refusal
from kappa.core.store.location import Location, NoClient, StoreAway
from kappa.core.validation import telling_columns

MOST_RESULTS = 200
MOST_ROWS = 10
"""Offending rows that are shown of an expectation; the report has more of them."""
FOLDER, FILE = "validations", "report.html"
_VALIDATION = "select validation, validated_at from ops.replays where replay_id = %(replay)s"


class NoReport(Refusal):
    """There is no report of this replay, or not here."""

    def __init__(self, replay: UUID, why: str) -> None:
        super().__init__(f"no report of replay {replay} can be shown: {why}. The question in Airflow has its summary.")


def read(database: Database, store: Location, replay: UUID) -> dict[str, Any]:
    """{"success", "crashed", "problem", "compared_rows", "seconds", "validated_at": None of one by an older release,
    "comparisons", "among", "results", "file": whether the whole report can be shown}: of `results` the ones that are
    not met come first, each with "columns" and "rows" of what offends; of `comparisons` each has the "totals" that
    differ. Raises NoReport, NotReadable, TooSlow."""
    found = _validation(database, replay)
    results = sorted(found.get("results", ()), key=lambda one: (one["success"], one["severity"] != "block"))
    same = ("success", "crashed", "problem", "compared_rows", "seconds", "validated_at")
    told: dict[str, Any] = plain({
        **{name: found.get(name) for name in same},
        "comparisons": [_comparison(one) for one in found.get("comparisons", ())],
        "among": len(results),
        "results": [_result(one) for one in results[:MOST_RESULTS]],
        "file": _has_file(store, found),
    })  # fmt: skip
    return told


def page(database: Database, store: Location, replay: UUID) -> bytes:
    """The report as the validation wrote it, HTML. Raises NoReport, NotReadable, TooSlow."""
    found = _validation(database, replay)
    try:
        return _file(store, found).read()
    except StoreAway as away:
        raise NoReport(replay, str(away).removesuffix(".")) from away
    except FileNotFoundError:
        raise NoReport(replay, f"there is no file {FILE} of it in the store") from None


def _validation(database: Database, replay: UUID) -> Mapping[str, Any]:
    with database.reading() as connection:
        row = connection.execute(_VALIDATION, {"replay": replay}).fetchone()
    if row is None or row["validation"] is None:
        raise NoReport(replay, "it was not validated" if row else "there is no such replay")
    return {**row["validation"], "validated_at": row["validated_at"]}


def _file(store: Location, found: Mapping[str, Any]) -> Location:
    """Where the report's file is. Raises FileNotFoundError where that is outside of where validations write."""
    folder = PurePosixPath(str(found.get("folder") or ""))
    if folder.parts[:1] != (FOLDER,) or ".." in folder.parts:
        raise FileNotFoundError(folder)
    return store / str(folder / FILE)


def _has_file(store: Location, found: Mapping[str, Any]) -> bool:
    """Whether it is there, for all that can be known now."""
    try:
        return _file(store, found).exists()
    except (FileNotFoundError, StoreAway, NoClient):
        return False


def _comparison(found: Mapping[str, Any]) -> dict[str, Any]:
    figures = found.get("figures", {})
    names = [name.removeprefix("live_") for name in figures if name.startswith("live_")]
    totals = [{"measure": name, "live": figures[f"live_{name}"] or 0, "candidate": figures[f"candidate_{name}"] or 0}
              for name in names]  # fmt: skip
    held = {name: found.get(name) for name in ("job", "live", "candidate", "since", "until", "compared")}
    return {**held, "totals": [one for one in totals if one["live"] != one["candidate"]]}


def _result(found: Mapping[str, Any]) -> dict[str, Any]:
    rows = found.get("rows", ())
    columns = telling_columns(rows)
    same = ("suite", "expectation", "says", "severity", "success", "observed", "count", "problem")
    shown = [[row.get(name) for name in columns] for row in rows[:MOST_ROWS]]
    return {**{name: found.get(name) for name in same}, "columns": columns, "rows": shown}
