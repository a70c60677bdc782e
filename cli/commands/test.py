"""The command `test`: linters and types, and the tests by what they need, side by side."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from cli.entry import CHECKOUT
from cli.suite import Count, Part, Run, Step, end, memory_for_files, places
from kappa.core.refusals import Refusal
from stack.provisioning import providers
from stack.provisioning.terraform import executable

TYPED = (
    "jobs", "stack", "cli", "examples", "installed", "plugins/kappa", "dags", "great_expectations", "bench", "tests",
)  # fmt: skip
SCRIPTS = ("kappa", ".ci/*", "docker/*.sh", "examples/*.sh")
NICENESS = {"classes": -10 if os.geteuid() == 0 else 0, "checks": 10, "units": 5}
"""What every JVM of the tests maps is made before all else; what needs nothing but the processors comes last."""
TOLD_EVERY_SECONDS = 60.0
POLL_SECONDS = 0.2
NEEDS = {
    "units": "not (rig or integration)",
    "servers": "rig and not (spark or integration)",
    "rigs": "rig and spark and not (r1_fault or integration)",
    "faults": "r1_fault and not integration",
    "stack": "integration",
}
"""The parts, which run side by side, and the marks of their tests. Faults on the rig R1 are one of them, as they are
half of what needs Spark; what needs real servers and no Spark is another: so the processors are seldom idle."""
PROVISIONING = "provisioning"
"""What provisions an installation, applied for real; long tests all of them."""
USUAL_MINUTES = {"units": 17, "servers": 15, "rigs": 10, "faults": 16, "stack": 15}
"""What the parts take on two cores, side by side, without their long tests."""

messages = Console(stderr=True, soft_wrap=True, highlight=False)


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    app.command("test", context_settings={"allow_extra_args": True})(_test)


def parts(checkout: Path, folder: Path, long: bool, extra: Sequence[str]) -> list[Part]:
    """What runs side by side. With arguments of its own there is one pytest for all tests, whose output is live."""
    if extra:
        return [_checks(checkout), _tests(folder, "tests", None, long, extra)]
    tests = (_tests(folder, name, marks, long, places(name, checkout)) for name, marks in NEEDS.items())
    return [_classes(), _checks(checkout), *tests]


def applied(checkout: Path, folder: Path, environment: Mapping[str, str], extra: Sequence[str]) -> list[Part]:
    """What is applied for real, and nothing else. Terraform's providers are built first; what is needed and not found
    is named, and the tests that need it are skipped."""
    try:
        executable(environment)
        wanted = [*providers.PROVIDERS, providers.TFLINT, providers.COMPOSE]
        providers.build(checkout, environment, lambda line: messages.print(line, markup=False), wanted)
    except Refusal as missing:
        messages.print(str(missing), markup=False)
    return [_tests(folder, PROVISIONING, PROVISIONING, True, ["-s", "-rs", *extra])]


def _classes() -> Part:
    """What each JVM of the tests maps instead of reading it: a stack makes it behind all else. Who needs it waits."""
    return Part("classes", [Step("archive", [*_nice("classes"), sys.executable, "-m", "stack.services.class_archive"])])


def _checks(checkout: Path) -> Part:
    """Linters and types, at the lowest priority; folders without Python files are left out."""
    typed = [folder for folder in TYPED if any((checkout / folder).rglob("*.py"))]
    commands = {
        "ruff check": [_tool("ruff"), "check", "."],
        "ruff format": [_tool("ruff"), "format", "--check", "."],
        "mypy": [_tool("mypy"), *typed],
        "shellcheck": [_tool("shellcheck"), *(str(file) for found in SCRIPTS for file in checkout.glob(found))],
        "hadolint": [_tool("hadolint"), "docker/Dockerfile"],
        "terraform and compose": [sys.executable, "-m", "stack.provisioning.linters"],
    }
    return Part("checks", [Step(name, [*_nice("checks"), *command]) for name, command in commands.items()])


def _nice(part: str) -> list[str]:
    return ["nice", "-n", str(NICENESS.get(part, 0))]


def _tests(folder: Path, name: str, which: str | None, long: bool, extra: Sequence[str] = ()) -> Part:
    """A pytest that keeps a tally where its Run looks for it."""
    left_out = None if which == PROVISIONING else f"not {PROVISIONING}" if long else "not long"
    marks = " and ".join(mark for mark in (which, left_out) if mark)
    chosen = ["-m", marks] if marks else []
    tally = ["-p", "tests.tally", "--tally", str(folder / f"{name}.json")]
    command = [*_nice(name), sys.executable, "-m", "pytest", *tally, *chosen, *extra]
    return Part(name, [Step("pytest", command)], counts=True, live=bool(extra))


def _test(
    context: typer.Context,
    long: Annotated[bool, typer.Option("--long", help="Add the tests that take longer.")] = False,
    provisioning: Annotated[
        bool, typer.Option("--provisioning", help="Only what provisions an installation, applied for real.")
    ] = False,
) -> None:
    """Run all checks and tests, side by side; what follows `--` goes to one pytest."""
    extra = context.args
    in_memory = None if long or provisioning or extra else memory_for_files()
    with _workplace(in_memory) as folder:
        planned = applied(CHECKOUT, folder, os.environ, extra) if provisioning else parts(CHECKOUT, folder, long, extra)
        faults = run(planned, folder, folder if in_memory else None)
    if faults:
        raise typer.Exit(1)


def run(planned: Sequence[Part], folder: Path, files: Path | None = None) -> int:
    """Run the parts side by side to their end; returns how much failed. An interruption ends all, and shows what they
    have come to. `files` is where they put what is temporary, if not where all programs do."""
    runs = [Run(part, folder, CHECKOUT, files) for part in planned]
    left = list(runs)
    try:
        _watch(left)
    except KeyboardInterrupt:
        messages.print("interrupted: taking down what was started; this may take a minute")
        end(left)
        for one in left:
            _show(one)
        _sum_up(runs)
        raise
    return _sum_up(runs)


@contextmanager
def _workplace(above: Path | None) -> Iterator[Path]:
    """A folder for what the parts write, which Postgres' own user may pass; a TERM is taken for a Ctrl-C meanwhile."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="kappa-suite-", dir=above))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        signal.signal(signal.SIGTERM, before)


def _watch(left: list[Run]) -> None:
    """Until none is left: each one's output when it ends, and now and then which tests run."""
    begun = told = time.monotonic()
    announced: set[str] = set()
    while left:
        for one in [one for one in left if not one.working]:
            left.remove(one)
            _show(one)
        _announce(left, announced)
        if time.monotonic() - told > TOLD_EVERY_SECONDS:
            told = time.monotonic()
            messages.print("\n".join(_progress(one, told - begun) for one in left), markup=False)
        time.sleep(POLL_SECONDS)


def _announce(runs: Sequence[Run], announced: set[str]) -> None:
    """How many tests a part has, and about how long they take, as soon as they are collected."""
    for one in runs:
        if one.part.name not in announced and (count := one.count) is not None:
            announced.add(one.part.name)
            messages.print(f"{one.part.name}: {count.selected} tests{_price(one.part.name, count)}", markup=False)


def _price(part: str, count: Count) -> str:
    usual = USUAL_MINUTES.get(part)
    about = f", about {usual + count.long_minutes:.0f} min" if usual else ""
    return about + (f" ({count.long_minutes:.0f} min of them the long ones)" if count.long_minutes else "")


def _progress(one: Run, seconds: float) -> str:
    """What a part is at."""
    if (count := one.count) is None:
        return f"{one.part.name}: at work after {seconds:.0f} s"
    failed = f", {len(count.failed)} failed" if count.failed else ""
    now = f"; since {time.time() - count.since:.0f} s {count.running}" if count.running else ""
    return f"{one.part.name}: {count.ended} of {count.selected} after {seconds:.0f} s{failed}{now}"


def _show(one: Run) -> None:
    """A part that is over: its output, whole, and a line."""
    sys.stdout.write(f"──── {one.part.name}\n{one.output.read_text(errors='replace')}")
    sys.stdout.flush()
    verdict = "failed" if one.faults() else "passed"
    messages.print(f"{one.part.name}: {verdict} in {one.seconds:.1f} s", markup=False)


def _sum_up(runs: Sequence[Run]) -> int:
    """Each part in a row, the names of all that failed, and the closing line; returns how much failed.

    A check that failed, and a pytest that ended otherwise than by its tests, count as failed, too: the closing line
    never says 0 of a run that went wrong.
    """
    counts = [one.count or Count() for one in runs]
    table = Table("part", "seconds", "passed", "failed", "skipped", "deselected", box=None)
    for one, count in zip(runs, counts, strict=True):
        cells = (count.passed, len(count.failed), count.skipped, count.deselected) if one.part.counts else ("",) * 4
        table.add_row(one.part.name, f"{one.seconds:.1f}", *map(str, cells))
    messages.print(table)
    _show_reds([count.reds for count in counts])
    _show_measured([count.measured for count in counts if count.measured])
    faults = [fault for one in runs for fault in one.faults()]
    messages.print("".join(f"failed: {fault}\n" for fault in faults), markup=False, end="")
    skipped = sum(count.skipped for count in counts)
    typer.echo(closing(sum(count.passed for count in counts), len(faults), skipped))
    return len(faults)


def _show_reds(parts: Sequence[Mapping[str, Sequence[str]]]) -> None:
    """The check of the checks: one table of what went red without a safeguard, whichever part ran it."""
    reds: dict[str, list[str]] = {}
    for part in parts:
        for safeguard, lines in part.items():
            reds.setdefault(safeguard, []).extend(lines)
    if reds:
        typer.echo("──── tests that went red with a safeguard taken away")
    for safeguard, lines in sorted(reds.items()):
        typer.echo("\n".join([safeguard, *lines]))


def _show_measured(tables: Sequence[Sequence[str]]) -> None:
    """What the tests of faults measured, as one table."""
    if tables:
        rows = sorted((row for table in tables for row in table[2:]), key=lambda row: int(re.split(r"\D+", row)[1]))
        typer.echo("\n".join(["──── what the tests of faults measured", *tables[0][:2], *rows]))


def closing(passed: int, failed: int, skipped: int) -> str:
    """The last line, in pytest's plain form."""
    return f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "")


def _tool(name: str) -> str:
    """A program of the environment that this command runs in."""
    return str(Path(sys.executable).with_name(name))
