"""What code, comments and docs refer to is there: sections, decisions, faults, invariants, rigs, pages and headings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FOLDERS = (
    "bench", "cli", "dags", "docs", "great_expectations", "installed", "jobs", "plugins", "stack", "tests", "traffic",
    "oracle",
)  # fmt: skip
SUFFIXES = {".md", ".py", ".sql"}
PAGES = {"contract": DOCS / "contract.md", "architecture": DOCS / "architecture.md"}
"""The pages that are cited by the number of a section, by what they are called then."""

NUMBERS = r"(\d+(?:(?:, |; | and | to )\d+)*)"
SECTION = re.compile(rf"(?:\b(\w+)(?:\]\([^)]*\))?(?:'s)?,? \(?)?\bsections? {NUMBERS}")
DECISION = re.compile(rf"\b[Dd]ecisions?[ /]{NUMBERS}")
NAME = re.compile(r"\b[FIRT]\d{1,2}\b")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PAGE = re.compile(r"\b(?:docs|bench)/[\w./-]+\.md\b")
CODE = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|sql)\b)")
Found = Iterator[tuple[str, bool]]
"""References as they are written, and whether each leads somewhere."""


@cache
def _read(file: Path) -> str:
    """A file's text in one line: a reference may go on in the next one, behind the sign of a comment."""
    return re.sub(r"\s*\n\s*(?:#|--)?\s*", " ", file.read_text())


@cache
def _files() -> tuple[Path, ...]:
    """All that people wrote, but for this file, whose examples lead nowhere."""
    below = (file for folder in FOLDERS for file in (ROOT / folder).rglob("*") if file.suffix in SUFFIXES)
    return tuple(sorted({*ROOT.glob("*.md"), *below} - {Path(__file__).resolve()}))


def sections(file: Path, text: str) -> Found:
    """`contract, section N`; without the name of a page, a section of the page that says it."""
    for match in SECTION.finditer(text):
        page = PAGES.get((match[1] or "").lower(), file)
        for number in _numbers(match[2]):
            yield f"{match[0]} (no section {number})", number in _numbered(page)


def decisions(_file: Path, text: str) -> Found:
    """`decision NNNN`, `decisions NNNN and NNNN`, `docs/decisions/NNNN`."""
    for match in DECISION.finditer(text):
        for number in _numbers(match[1]):
            yield match[0], any((DOCS / "decisions").glob(f"{number:04}-*.md"))


def names(_file: Path, text: str) -> Found:
    """Faults (F), invariants (I), rigs (R) and rules of the tests (T): each has a row in docs/faults.md."""
    for name in NAME.findall(text):
        yield name, name in _named()


def links(file: Path, text: str) -> Found:
    """Links of a page to files and headings of this repository."""
    for link in LINK.findall(text) if file.suffix == ".md" else ():
        if "://" not in link:
            target, _, heading = link.partition("#")
            path = (file.parent / target) if target else file
            yield link, path.exists() and (not heading or heading in _headings(path))


def pages(_file: Path, text: str) -> Found:
    """A page's path, in text or code."""
    for page in PAGE.findall(text):
        yield page, (ROOT / page).exists()


def code(file: Path, text: str) -> Found:
    """The end of a file's path in backticks, on a page; an example that is still to be written has `slot_ctr` in it."""
    for path in CODE.findall(text) if file.suffix == ".md" else ():
        if "slot_ctr" not in path:
            yield path, any(name == path or name.endswith(f"/{path}") for name in _paths())


KINDS: dict[str, Callable[[Path, str], Found]] = {
    "sections": sections, "decisions": decisions, "names": names, "links": links, "pages": pages,
    "code": code,
}  # fmt: skip


def _numbers(written: str) -> list[int]:
    """The numbers of `1`, `1 and 3`, `1 to 3`."""
    first, *others = re.split(r"(, |; | and | to )", written)
    numbers = [int(first)]
    for how, number in zip(others[::2], others[1::2], strict=True):
        numbers += range(numbers[-1] + 1, int(number) + 1) if how == " to " else [int(number)]
    return numbers


@cache
def _numbered(page: Path) -> frozenset[int]:
    """The numbers of a page's sections."""
    return frozenset(int(number) for number in re.findall(r"^## (\d+)\. ", page.read_text(), re.MULTILINE))


@cache
def _paths() -> tuple[str, ...]:
    """The paths of all files that people wrote, and of this one."""
    files = (file for folder in FOLDERS for file in (ROOT / folder).rglob("*") if file.suffix in SUFFIXES)
    return tuple(str(file.relative_to(ROOT)) for file in files)


@cache
def _named() -> frozenset[str]:
    return frozenset(re.findall(r"^\| ([FIRT]\d+)\*? \|", (DOCS / "faults.md").read_text(), re.MULTILINE))


@cache
def _headings(page: Path) -> frozenset[str]:
    """A page's headings as links name them: small letters, without punctuation, with hyphens for spaces."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)


@pytest.mark.parametrize("kind", KINDS)
def test_every_reference_leads_somewhere(kind: str) -> None:
    found = [(file, what, ok) for file in _files() for what, ok in KINDS[kind](file, _read(file))]
    lost = [f"{file.relative_to(ROOT)}: {what}" for file, what, ok in found if not ok]
    assert found, "nothing was looked at: the folders have moved, or nothing refers like this any more"
    assert not lost, "these lead nowhere:\n" + "\n".join(lost)


@pytest.mark.parametrize(
    ("kind", "written", "lost"),
    [
        ("sections", "contract, sections 2 to 9; contract's section 3", ["contract, sections 2 to 9 (no section 9)"]),
        ("sections", "the architecture (section 12), design, section 3, section 1",
         ["architecture (section 12 (no section 12)", "design, section 3 (no section 3)", "section 1 (no section 1)"]),
        ("sections", "the [contract](contract.md), section 2; the [contract](contract.md), section 99",
         ["contract](contract.md), section 99 (no section 99)"]),
        ("decisions", "decisions 0001; 0999 and 0002, docs/decisions/0998", ["decisions 0001; 0999 and 0002",
                                                                             "decisions/0998"]),
        ("names", "F1 to F38, I10, I11, R1, T9", ["F38", "I11", "T9"]),
        ("links", "[a](faults.md) [b](gone.md) [c](runbook.md#the-stack) [d](runbook.md#gone) [e](https://gone.gone)",
         ["gone.md", "runbook.md#gone"]),
        ("pages", "docs/faults.md, docs/gone.md", ["docs/gone.md"]),
        ("code", "`core/versions.py`, `plans/gone.py`, `run.py`", ["plans/gone.py"]),
    ],
)  # fmt: skip
def test_a_reference_to_nothing_is_seen(kind: str, written: str, lost: list[str]) -> None:
    assert [what for what, ok in KINDS[kind](DOCS / "screens.md", written) if not ok] == lost


def test_each_decision_is_in_their_index() -> None:
    folder = DOCS / "decisions"
    listed = re.findall(r"^\| \[\d{4}\]\((\S+)\) \| .+\? \|", (folder / "README.md").read_text(), re.MULTILINE)
    assert listed == sorted(page.name for page in folder.glob("0*.md"))
