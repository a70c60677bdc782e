"""The command `doctor`: tries each part of the installation and says what is missing and how to get it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from cli.doctor import (
    airflow_parts,
    certificate_ends,
    client_zones,
    cluster_hosts,
    database_roles,
    host_files,
    spark_cluster,
    topic_shape,
)
from cli.doctor.trial import Trial, Tried, carry_out, findings
from cli.entry import settings
from cli.options import Json
from cli.output import err, out, working
from kappa.core.installation.settings import Settings

PARTS = (host_files, certificate_ends, database_roles, client_zones, topic_shape, spark_cluster, airflow_parts)
AT_ONCE = 8
Hosts = Annotated[bool, typer.Option("--hosts", help="Also look at each host of Spark, which takes a free core of it.")]


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    app.command("doctor")(doctor)


def trials(installation: Settings, hosts: bool = False) -> Iterator[Trial]:
    """All that is tried: on a host that was given the secrets of its roles, nothing that goes by others; `hosts`: each
    host of Spark, too."""
    wanted = host_files.wanted(installation)
    for part in PARTS:
        yield from (one for one in part.trials(installation) if wanted(one.secret))
    if hosts:
        yield from cluster_hosts.trials(installation)


def doctor(hosts: Hosts = False, as_json: Json = False) -> None:
    """Try each part of the installation with each role, and say what is missing and how to get it.

    Changes nothing; the exit code is 1 where anything is wrong.
    """
    installation = settings()
    with working("trying each part"), ThreadPoolExecutor(AT_ONCE) as pool:
        tried = list(pool.map(carry_out, trials(installation, hosts)))
    wrong = list(findings(tried))
    if as_json:
        typer.echo(json.dumps([_json(one) for one in tried], indent=2))
    else:
        out.print(table(tried))
        said = f"[bold red]{len(wrong)} of {len(tried)} things are wrong[/]" if wrong else "[green]all is well[/]"
        err.print(said)
    if wrong:
        raise typer.Exit(1)


def table(tried: list[Tried]) -> Table:
    """What was tried, what was found, and the remedy."""
    made = Table("part", "tried", "found")
    for one in tried:
        found = escape(one.found)
        if one.finding:
            remedy = f"\n[bold]{escape(one.finding.remedy)}[/]" if one.finding.remedy else ""
            found = f"[red]{escape(one.finding.wrong)}[/]{remedy}"
        made.add_row(one.part, escape(one.what), found)
    return made


def _json(one: Tried) -> dict[str, str | bool]:
    finding = one.finding
    said = {"wrong": finding.wrong, "remedy": finding.remedy} if finding else {"found": one.found}
    return {"part": one.part, "tried": one.what, "ok": finding is None, **said}
