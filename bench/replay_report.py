"""What the bench of a replay prints for people."""

from __future__ import annotations

from typing import Any

from bench import report

SPEEDS = (
    "records", "seconds_to_first_commit", "seconds", "records_per_second", "warm_seconds", "warm_records_per_second",
    "times_live",
)  # fmt: skip
WAITS = ("count", "p50", "p90", "p99", "max")


def tell(found: dict[str, Any]) -> None:
    """Speed, latency by phase, the comparison, the hand-over, the reader and the roll-back, as tables."""
    jobs = list(found["replay"])
    speeds = [(f"replay: {name.replace('_', ' ')}", *(found["replay"][job][name] for job in jobs)) for name in SPEEDS]
    live = [("live catch-up: records per second", *(found["live"][job]["records_per_second"] for job in jobs))]
    limit = f"at most {found['read_rate']:,}/s each" if found["read_rate"] else "no limit"
    report.table(f"replay of {found['records']:,} records, {limit}, seed {found['seed']}", ("", *jobs), live + speeds)
    waits = [
        (f"{phase} {job}", found["seconds"][phase], *(of[job][name] for name in WAITS))
        for phase, of in found["latency_ms"].items() for job in of
    ]  # fmt: skip
    title = f"append -> visible of the live jobs, ms, at {found['rate']:g} records/s; p99 ratio {found['p99_ratio']}"
    report.table(title, ("phase, job", "s", *WAITS), waits)
    report.table("the release", ("", ""), [*_release(found), *_reader(found["reader"]), *_back(found["rollback"])])
    report.say(f"{found['differences_by_reconcile']} differences by reconcile")


def _release(found: dict[str, Any]) -> list[tuple[str, object]]:
    compared = [(f"rows compared, {job}", rows) for job, rows in found["compared"].items()]
    valid = "all expectations are met" if found["valid"] and not found["not_met"] else "; ".join(found["not_met"])
    return [
        *compared, ("validation", valid), ("validation, s, beside the start of its process", found["validation_s"]),
        ("from the plan to the release, s", found["run_seconds"]), ("hand-over, s", found["hand_over_s"]),
    ]  # fmt: skip


def _reader(figures: dict[str, Any]) -> list[tuple[str, object]]:
    return [(f"reader: {name.replace('_', ' ')}", value) for name, value in figures.items()]


def _back(figures: dict[str, Any] | None) -> list[tuple[str, object]]:
    return [(f"roll-back: {name.replace('_', ' ')}", value) for name, value in (figures or {}).items()]
