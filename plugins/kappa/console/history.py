"""The pages *Releases* and *Replays*: who did what to which version and why, and what is computed anew just now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kappa.console.database import Database
from kappa.console.text import plain
from kappa.console.timeline import kind, lanes
from kappa.core.audit import is_in_place
from kappa.core.replays import APPROVAL_REFUSED
from kappa.core.verb_steps import Verb
from kappa.status import live_cost, replays

RELEASES = 50
ENTRIES = 200
VERSIONS = 100

_RELEASES = """
select release_id, jobs, segments_before, segments_after, promoted_at, promoted_by, approved_by, evidence
from ops.releases order by release_id desc limit %(most)s"""
_VERSIONS = """
select v.job, v.version, v.state, v.desired, v.artifact, v.result_digest, v.starts_at, v.created_at, v.updated_at,
    p.pinned_by, p.reason as pin_reason
from ops.versions v left join ops.pins p using (job, version)
order by v.created_at desc, v.job limit %(most)s"""
_REPLAYS = """
select versions, promote, asked_by, outcome, begun_at, ended_at from ops.replays
order by begun_at desc limit %(most)s"""
_CHANGES = """
select job, version, verb, phase, begun_at, ended_at from ops.changes order by begun_at desc limit %(most)s"""
_WITH_CODE = """
select job, version, state from ops.versions where state <> 'RETIRED' order by job, version desc limit %(most)s"""
_SEGMENTS = "select job, version, from_window::text, to_window::text from ops.segments order by job, from_window"
_AUDIT = """
select at, actor, action, job, version, run_id, reason, evidence from ops.audit
where (%(job)s = '' or job = %(job)s)
order by at desc limit %(most)s"""
_ENDED = """
select replay_id::text, run_id, versions, live, starts_ms, parity, approval, asked_by, reason, answer, answered_by,
    outcome, begun_at, answered_at, ended_at, validation ->> 'success' as validated
from ops.replays where ended_at is not null order by begun_at desc limit 20"""

_REFUSED = """
select distinct on (run_id) run_id, at, evidence ->> 'sentence' as sentence from ops.audit
where run_id = any(%(runs)s) and action = %(action)s order by run_id, at desc"""


def releases(database: Database, job: str) -> dict[str, Any]:
    """{"releases", "versions", "segments", "audit"}, the newest first, a release with its "kind"; the "lanes" of the
    time line, and "at", up to when it goes. Raises NotReadable, TooSlow."""
    with database.reading() as connection:
        found: dict[str, Any] = {
            "at": connection.execute("select statement_timestamp() as at").fetchall()[0]["at"],
            "releases": connection.execute(_RELEASES, {"most": RELEASES}).fetchall(),
            "versions": connection.execute(_VERSIONS, {"most": VERSIONS}).fetchall(),
            "segments": connection.execute(_SEGMENTS).fetchall(),
            "audit": connection.execute(_AUDIT, {"job": job, "most": ENTRIES}).fetchall(),
        }
        replayed = connection.execute(_REPLAYS, {"most": VERSIONS}).fetchall()
        changed = connection.execute(_CHANGES, {"most": ENTRIES}).fetchall()
    for release in found["releases"]:
        release["kind"] = kind(release)
    found["lanes"] = lanes(found["versions"], found["releases"], found["segments"], replayed, changed)
    shown: dict[str, Any] = plain(found)
    return shown


def versions(database: Database) -> dict[str, Any]:
    """{"versions": [{"job", "version", "state"}]} that are not retired, the newest of each job first. Raises
    NotReadable, TooSlow."""
    with database.reading() as connection:
        return {"versions": connection.execute(_WITH_CODE, {"most": VERSIONS}).fetchall()}


def under_way(database: Database) -> dict[str, Any]:
    """{"replays": as `kappa.status.replays` has them, each with the "dag_id" of its run (None: it has none in Airflow)
    and "refused", the newest {"at", "sentence"} of an approval that did not count, each of its candidates with the
    "cost" to the live version or None, as `live_cost` tells it; "ended": the newest 20 that are over}. Raises
    NotReadable, TooSlow."""
    with database.reading() as connection:
        found = {"replays": replays.read(connection), "ended": connection.execute(_ENDED).fetchall()}
        asked = {"runs": [held["run_id"] for held in found["replays"]], "action": APPROVAL_REFUSED}
        refused = {row["run_id"]: row for row in connection.execute(_REFUSED, asked).fetchall()}
        costs = live_cost.read(connection) if found["replays"] else {}
    for held in found["replays"]:
        held |= {"dag_id": _dag(held), "refused": refused.get(held["run_id"])}
        for candidate in held["candidates"]:
            candidate["cost"] = costs.get((held["replay_id"], candidate["job"]))
    shown: dict[str, Any] = plain(found)
    return shown


def _dag(replay: Mapping[str, Any]) -> str | None:
    """The DAG whose run a replay is: one that promotes nothing is a proof."""
    if is_in_place(replay["run_id"]):
        return None
    return (Verb.REPROCESS if replay["promote"] else Verb.PROVE).dag_id
