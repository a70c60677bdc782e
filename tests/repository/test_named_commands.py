"""Each command line that a page or a message names is one that the command line takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer

from cli.main import application

CHECKOUT = Path(__file__).resolve().parents[2]
PAGES = [
    CHECKOUT / "README.md",
    *(page for page in (CHECKOUT / "docs").glob("*.md")),
    *(page for folder in ("examples", "terraform") for page in (CHECKOUT / folder).rglob("README.md")),
]
CODE = [
    file
    for folder in ("cli", "stack", "plugins", "jobs", "dags", "oracle", "traffic")
    for file in (CHECKOUT / folder).rglob("*.py")
]
SPAN = re.compile(r"`(\./kappa [^`]+)`|^ *(\./kappa [^#|;\n]*)", re.MULTILINE)
SAID = re.compile(
    r"\./kappa(?: --target \S+)?((?: [a-z]+)+|)((?: (?:--[a-z-]+|\{[^}]*\}|[A-Z0-9./_]+|[a-z_]+|\.\.\.))*)"
)
STANDS_FOR = re.compile(r"\b[A-Z]{1,}\b|\.\.\.|[─│]")
"""A line with one of these is a pattern, not a command."""


@pytest.fixture(scope="module")
def root() -> Any:
    return typer.main.get_command(application())


def _lines() -> Iterator[tuple[str, list[str]]]:
    """Page, and the words after `./kappa`."""
    for page in PAGES:
        for span in SPAN.finditer(page.read_text()):
            line = " ".join((span[1] or span[2]).split())
            if not STANDS_FOR.search(line):
                yield page.name, shlex.split(line)[1:]


def _complaint(root: Any, words: Sequence[str]) -> Any:
    """What the command line says of these words, without doing anything; None: it takes them, or a command is only
    named, without what it needs."""
    command, rest = root, list(words)
    try:
        while rest:
            context = command.make_context("kappa", list(rest), resilient_parsing="--help" in rest)
            if not hasattr(command, "commands"):
                return None
            _, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
    except Exception as error:
        says = getattr(error, "format_message", None)
        return says() if says else repr(error)
    return None


def test_each_command_line_of_a_page_is_taken(root: Any) -> None:
    lines = list(_lines())
    assert len(lines) > 40
    wrong = {f"{page}: {' '.join(words)}": said for page, words in lines if (said := _complaint(root, words))}
    assert wrong == {}


def test_a_page_that_forgets_an_option_is_told(root: Any) -> None:
    assert _complaint(root, ["produce", "/tmp/x.ndjson", "--as-is"]) is not None
    assert _complaint(root, ["produce", "--source", "/tmp/x.ndjson", "--as-is"]) is None
    assert _complaint(root, ["no_such"]) is not None


def _options(root: Any, words: Sequence[str]) -> set[str] | None:
    """The options of the command that these words begin with; None: there is no such command."""
    command = root
    for word in words:
        if not hasattr(command, "commands"):
            break
        if word not in command.commands:
            return None
        command = command.commands[word]
    return {name for each in command.params for name in (*each.opts, *each.secondary_opts)} | {"--help"}


def test_each_command_that_a_message_names_has_the_options_that_it_names(root: Any) -> None:
    """A remedy that is refused is none."""
    wrong, found = [], 0
    for file in [*CODE, *PAGES]:
        for said in SAID.finditer(re.sub(r'"\s*\n\s*f?"', "", file.read_text())):
            words = said[1].split()
            known = _options(root, words[:2])
            found += 1
            if known is None or not set(re.findall(r"--[a-z-]+", said[2])) <= known:
                wrong.append(f"{file.relative_to(CHECKOUT)}: {said[0]}")
    assert found > 150
    assert wrong == []
