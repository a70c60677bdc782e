"""`status --job`: one job in detail, for people as a list of what matters, or as JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import typer
from rich.markup import escape
from rich.table import Table

from cli import output
from cli.operator_connection import ROLE, Reading
from kappa.core.advice.size import Advice
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import find
from kappa.core.versions import Launch
from kappa.platform import cluster_of, connect
from stack.status import advice, job_detail, outages

TREND_SECONDS = 4.0
"""Between two looks at what is unread: several batches at the usual cadences, so that one batch is no trend."""
Fact = tuple[str, str]


def show(settings: Settings, job: str, as_json: bool) -> None:
    """Print one job; exit code 1 if something of it is red. Raises UnknownJob, and as `read`."""
    found = read(settings, find(job).name)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        _print(found, settings.is_embedded)
    if found["red"]:
        raise typer.Exit(1)


def advised(settings: Settings) -> list[Advice]:
    """The advice on each job that something serves. Raises DoesNotAnswer, NoRegistry."""
    return advice.read(settings, lambda: cluster_of(settings, advice.CLUSTER_SECONDS).capacity().to_json())


def read(settings: Settings, job: str) -> dict[str, Any]:
    """What `stack.status.job_detail.read` says, and of each version `lag_trend` (events per second by which what is
    unread grows; None without a driver), `launch`, and `advice` on its size (None where it does not serve). Raises
    DoesNotAnswer, NoRegistry, Unreachable."""
    registry = connect(settings).registry
    told = {each.version: each.to_json() for each in advised(settings) if each.job == job}
    with outages.reading(settings, ROLE, TREND_SECONDS + outages.BOUND_SECONDS) as connection:
        found = job_detail.read(connection, job)
        trends = _trends(connection, found)
    for version in found["versions"]:
        version["lag_trend"] = trends.get(version["version"])
        version["advice"] = told.get(version["version"])
        version["launch"] = _launch(registry.open_launch(job, version["version"]))
    return found


def facts(version: Mapping[str, Any]) -> list[Fact]:
    """A version in words: (what, its value), in the order in which one asks."""
    return [
        ("version", f"v{version['version']}, {version['state']}, wanted {version['desired']}"),
        ("artifact", version["artifact"]),
        ("settings", " ".join(f"{name}={value}" for name, value in version["settings"].items())),
        ("state partitions", str(version["state_partitions"] or "none: the job keeps no state")),
        ("generation", generation(version)),
        ("held by", "\n".join(_lease(lease) for lease in version["leases"]) or "nobody"),
        ("change", _change(version["change"]) if version["change"] else "none under way"),
        ("launch", _started(version["launch"])),
        ("driver", _driver(version)),
        ("unread", lag(version)),
        ("state", f"{_number(version['state_rows'])} rows, {_number(version['state_bytes'])} bytes"),
        ("advice", _advice(version["advice"])),
        ("watermark", f"{version['watermark'] or 'none'}, delay {_number(version['watermark_delay_ms'])} ms"),
        ("complete through", version["complete_through"] or "not known yet"),
    ]


def generation(version: Mapping[str, Any]) -> str:
    """The generation of the checkpoint and how it was made."""
    now = version["generation"]
    made = next((one for one in version["generations"] if one["generation"] == now), None)
    if made is None:
        return f"g{now}, written by the version itself"
    return (
        f"g{now}, made from g{made['made_from']} with {made['state_partitions']} state partitions at "
        f"{made['made_at'][:19]}, from batch {made['base_batch_id']}, by change {made['change_id']}"
    )


def lag(version: Mapping[str, Any]) -> str:
    """What is unread, and whether that grows."""
    unread = f"{_number(version['lag_events'])} events, {_number(version['lag_seconds'])} s"
    trend = version["lag_trend"]
    if trend is None:
        return f"{unread}, trend not known"
    word = "steady" if not trend else f"{'growing' if trend > 0 else 'shrinking'} by {abs(trend):,.0f}/s"
    return f"{unread}, {word}"


def _advice(told: Mapping[str, Any] | None) -> str:
    if told is None:
        return "none: it does not serve"
    return f"{told['sentence']}\n{told['command']}".rstrip()


def _trends(connection: Reading, found: Mapping[str, Any]) -> dict[int, float]:
    """By two looks, where a driver reports; what has none is not waited for."""
    reporting = [v["version"] for v in found["versions"] if v["beat_seconds"] is not None and v["beat_seconds"] < 10]
    if not reporting:
        return {}
    before = job_detail.unread(connection, found["job"])
    time.sleep(TREND_SECONDS)
    after = job_detail.unread(connection, found["job"])
    return {v: (after[v] - before[v]) / TREND_SECONDS for v in reporting if v in before and v in after}


def _launch(launch: Launch | None) -> dict[str, Any] | None:
    if launch is None:
        return None
    shown = job_detail.shown(vars(launch))
    return {
        name: shown[name]
        for name in ("launch_id", "intended_at", "submission_id", "claimed_by", "standby", "standby_warm_at")
    }


def _started(launch: Mapping[str, Any] | None) -> str:
    if launch is None:
        return "none open"
    who = f"claimed by {launch['claimed_by']}" if launch["claimed_by"] else "claimed by no driver yet"
    warm = f"warm since {launch['standby_warm_at'][:19]}" if launch["standby_warm_at"] else "not warm yet"
    standby = f"; {launch['standby']} stands by, {warm}" if launch["standby"] else ""
    return f"{launch['launch_id']} of {launch['intended_at'][:19]}, {who}{standby}"


def _lease(lease: Mapping[str, Any]) -> str:
    why = f" ({lease['reason']})" if lease["reason"] else ""
    part = "" if lease["version"] else "live end: "
    return f"{part}{lease['verb']} of {lease['actor']}{why}, run {lease['run_id']}, until {lease['ends_at'][:19]}"


def _change(change: Mapping[str, Any]) -> str:
    marks = " ".join(f"{name} {at[11:19]}" for name, at in sorted(change["marks"].items(), key=lambda mark: mark[1]))
    return f"{change['verb']}, phase {change['phase']}, run {change['run_id']}\n{marks}".rstrip()


def _driver(version: Mapping[str, Any]) -> str:
    if version["beat_seconds"] is None:
        return "none has reported"
    return (
        f"{version['submission_id']}, pid {version['driver_pid']}, epoch {version['epoch']}, "
        f"heartbeat {version['beat_seconds']:,.0f} s ago, commit {_number(version['freshness_seconds'])} s ago"
    )


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:,.0f}"


def _print(found: Mapping[str, Any], embedded: bool) -> None:
    if not found["versions"]:
        output.err.print(f"{found['job']} is not deployed; ./kappa deploy {found['job']}", highlight=False)
    for version in found["versions"]:
        shown = Table(show_header=False, title=found["job"], title_justify="left")
        for name, value in facts(version):
            shown.add_row(f"[bold]{name}[/]", escape(value))
        output.out.print(shown)
        rows = [(f"g{b['generation']} {b['batch_id']}", b["committed_at"][:19], _number(b["records"]),
                 _number(b["rows"]), _number(b["gap_ms"])) for b in version["batches"]]  # fmt: skip
        output.table("batch", ("committed", "records", "rows changed", "ms since the one before"), rows)
    for red in found["red"]:
        output.out.print(output.red_line(red, embedded))
