"""One screen of *Now* and *Numbers* for a terminal, drawn from what the console inside Airflow reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from cli.explain_output import money
from kappa.core.advice.size import Size
from kappa.status.red_lines import RUNBOOK

MINUTES, CLIENTS = 8, 5
"""The newest minutes and the first clients: with three jobs all of it fits into 100 columns and 40 lines."""


@dataclass(frozen=True)
class Beside:
    """What is not in Postgres, or takes longer: what the monitor `found`, as `kappa.console.findings` tells it (None:
    nothing yet), and the advice on sizes."""

    found: Mapping[str, Any] | None
    advice: Sequence[Mapping[str, Any]]


def screen(now: Mapping[str, Any], numbers: Mapping[str, Any], beside: Beside) -> RenderableType:
    """What `kappa.console.now` and `kappa.console.numbers` read, as one screen."""
    at = datetime.fromtimestamp(now["at"], UTC)
    title = Text.from_markup(f"[bold]streams[/] at {at:%H:%M:%S} UTC")
    first = (*asked(now["questions"]), *found(beside.found), *red(now))
    return Group(title, *first, versions(now), *advised(beside.advice), minutes(numbers), clients(numbers))


def asked(questions: int) -> Iterator[Text]:
    """That replays wait for an answer, and where it is given."""
    if questions:
        told = "a question waits" if questions == 1 else f"{questions} questions wait"
        where = "Airflow, Streams, Replays, or ./kappa promote JOB"
        yield Text.from_markup(f"[bold red]{told}:[/] may what was replayed serve? {where}")


def found(told: Mapping[str, Any] | None) -> Iterator[Text]:
    """What the monitor finds; that it does not answer, or has not yet."""
    unknown = "of parts, disk, clocks and backlogs nothing is known"
    if told is None:
        yield Text(f"{unknown} yet: the monitor is being asked", style="dim")
    elif "silent" in told:
        yield Text(f"{unknown}: {told['silent']}")
    else:
        for one in told["findings"]:
            name = f"{one['title']}: {one['subject']}" if one["subject"] else one["title"]
            line = {"what": f"{name}: {one['detail']}", "since": one["since"], "next": one["next"]}
            yield from wrong({**line, "runbook": f'{RUNBOOK}, "{one["runbook"]}"'})


def red(now: Mapping[str, Any]) -> Iterator[Text]:
    """Each red line; where there is none, that."""
    for line in now["red"]:
        yield from wrong(line)
    if not now["red"]:
        yield Text.from_markup("[green]no stream is red[/]")


def wrong(line: Mapping[str, Any]) -> Iterator[Text]:
    """What is wrong, since when, what to type first and where the runbook has it."""
    yield Text.from_markup(f"[bold red]red:[/] {escape(line['what'])}")
    yield Text(f"     since {moment(line['since'])}; next: {line['next']}")
    yield Text(f"     {line['runbook']}")


def advised(advice: Sequence[Mapping[str, Any]]) -> Iterator[Text]:
    """Each advice on a size: the command that would do it, and why."""
    for one in advice:
        if one["size"] != Size.NONE:
            name = f"{one['job']} v{one['version']}"
            yield Text.from_markup(f"[bold]advice[/] {name}: {escape(one['command'])}")
            yield Text(f"     {one['sentence']}")


def versions(now: Mapping[str, Any]) -> Table:
    """A row for each version."""
    shown = Table("version", "state", title="now", title_justify="left")
    for heading in ("unread", "oldest", "visible p50/p99", "records/s", "batch", "state", "commit"):
        shown.add_column(heading, justify="right")
    for version in now["versions"]:
        shown.add_row(*row(version))
    return shown


def row(version: Mapping[str, Any]) -> tuple[str, ...]:
    """A version's cells."""
    latency = version["latency"]
    mark = "" if version["serves"] else " (does not serve)"
    visible = "" if latency["p50"] is None else f"{seconds(latency['p50'])}/{seconds(latency['p99'])}"
    return (
        f"{version['job']} v{version['version']}{mark}",
        version["state"] if version["desired"] == "running" else f"{version['state']}, {version['desired']}",
        count(version["lag_events"]),
        seconds(version["lag_seconds"]),
        visible,
        f"{version['minute_read'] / 60:,.1f}",
        "" if version["batch_ms"] is None else seconds(version["batch_ms"] / 1000),
        count(version["state_rows"]),
        seconds(version["commit_seconds"]),
    )


def minutes(numbers: Mapping[str, Any]) -> Table:
    """The newest minutes, what is final told from what is not."""
    shown = Table("minute", title="numbers of all clients", title_justify="left")
    for heading in ("impressions", "clicks", "CTR", "spend"):
        shown.add_column(heading, justify="right")
    shown.add_column("")
    for point in numbers["points"][-MINUTES:]:
        at = datetime.fromtimestamp(point["at"], UTC)
        shown.add_row(f"{at:%H:%M}", *sums(point), "final" if point["is_final"] else "open")
    return shown


def clients(numbers: Mapping[str, Any]) -> Table:
    """The first clients by spend, over the span."""
    of, span = numbers["clients"], numbers["choice"]["span"]
    title = f"clients by spend, last {span}: {min(CLIENTS, len(of['rows']))} of {of['among']}"
    shown = Table("client", title=title, title_justify="left")
    for heading in ("impressions", "clicks", "CTR", "spend"):
        shown.add_column(heading, justify="right")
    for client in of["rows"][:CLIENTS]:
        shown.add_row(escape(client["client_id"]), *sums(client))
    return shown


def sums(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Impressions, clicks, CTR and spend."""
    ctr = "" if row["ctr"] is None else f"{row['ctr']:.3%}"
    return count(row["impressions"]), count(row["clicks"]), ctr, money(int(row["spend_micros"]))


def moment(since: str | None) -> str:
    """A time of the registry, of which none is known of some lines."""
    if since is None:
        return "a time that is not known"
    return f"{datetime.fromisoformat(since).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def count(value: int | str | None) -> str:
    """A number of records or rows."""
    return "" if value is None else f"{int(value):,}"


def seconds(value: float | None) -> str:
    """A length of time, in at most six characters."""
    if value is None:
        return ""
    if value < 1:
        return f"{value * 1000:.0f} ms"
    return f"{value:.1f} s" if value < 100 else f"{value / 60:.0f} min"
