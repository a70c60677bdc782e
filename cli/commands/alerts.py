"""The commands `alerts list`, `alerts test` and `alerts run`: who is told of what is wrong, and what is open now."""

from __future__ import annotations

import json
import signal
import socket
import threading
from datetime import UTC, datetime

import msgspec
import typer
from rich.markup import escape

from cli import output
from cli.entry import CHECKOUT, settings
from cli.options import Json
from kappa.core.refusals import Refusal
from kappa.status.causes import MEANINGS
from stack.alerts import targets, wording
from stack.alerts.incidents import Incident
from stack.alerts.memory import Memory, MemoryFile
from stack.alerts.outbox import Letter
from stack.alerts.prometheus_rules import MONITOR
from stack.monitor import process

alerts = typer.Typer(help="Who is told of what is wrong: open incidents, a test message.", no_args_is_help=True)
HEADINGS = ("what", "of", "since", "next")


class NobodyIsTold(Refusal):
    """No target is named."""

    def __init__(self) -> None:
        super().__init__(
            "nobody would be told: alerts.targets in kappa.toml names no target. docs/alerts.md says how one is named. "
            "Nothing was sent."
        )


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    app.add_typer(alerts, name="alerts")


@alerts.command("list")
def list_incidents(as_json: Json = False) -> None:
    """Show the incidents that are open, and messages that are still to be delivered."""
    chosen, file = settings(), MemoryFile(settings().home)
    memory = file.read() if file.file.exists() else Memory()
    if as_json:
        typer.echo(json.dumps({"watched": _is_watched(file), **msgspec.to_builtins(memory)}, indent=2))
        return
    output.table("incident", HEADINGS, [_row(incident, chosen.is_embedded) for incident in memory.book.open])
    output.table("to", ("message", "tries", "not before"), [_letter(letter) for letter in memory.outbox])
    if not memory.book.open:
        output.out.print("no incident is open")
    if not chosen.alerts.targets:
        output.out.print("nobody is told of any: alerts.targets in kappa.toml names no target (docs/alerts.md)")
    elif not _is_watched(file):
        starts = MONITOR.next_command("", chosen.is_embedded)
        output.out.print(f"[bold red]nobody watches:[/] no monitor runs; '{starts}' starts it")


@alerts.command("test")
def test() -> None:
    """Send a test message to each target, and say what each answered; exit 1 if one did not take it."""
    chosen = settings()
    told = targets.read(chosen)
    if not told:
        raise NobodyIsTold
    at = datetime.now(UTC)
    title = "test: nothing is wrong"
    body = f"./kappa alerts test at {at:%Y-%m-%d %H:%M:%S} UTC\nfrom {socket.gethostname()}:{chosen.home}"
    answers = {target.name: target.tell(title, body) for target in told}
    for name, answer in answers.items():
        mark = "[green]taken:[/]" if answer.taken else "[bold red]not taken:[/]"
        output.out.print(f"{mark} {name}{'' if answer.taken else f': {escape(answer.said)}'}")
    if not all(answer.taken for answer in answers.values()):
        raise typer.Exit(1)


@alerts.command("run")
def run() -> None:
    """Watch, tell the targets and serve metrics until Ctrl-C; './kappa up' starts the same for the embedded stack."""
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    process.run(settings(), CHECKOUT, ended)


def _is_watched(file: MemoryFile) -> bool:
    return file.folder.is_dir() and file.is_held


def _row(incident: Incident, embedded: bool) -> tuple[str, ...]:
    since = datetime.fromtimestamp(incident.since, UTC)
    subjects = ", ".join(subject for subject in incident.subjects if subject)
    title = MEANINGS[incident.cause].title
    following = wording.next_command(incident.cause, incident.subjects[0], embedded)
    return str(incident.number), title, subjects, f"{since:%Y-%m-%d %H:%M:%S} UTC", following


def _letter(letter: Letter) -> tuple[str, ...]:
    at = datetime.fromtimestamp(letter.not_before, UTC)
    return letter.target, letter.title, str(letter.tries), f"{at:%H:%M:%S} UTC"
