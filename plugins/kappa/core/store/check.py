"""Tries a store before anything relies on it: what is wrong with it, and what to do about that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import uuid4

from kappa.core.installation.findings import Finding
from kappa.core.refusals import Refusal
from kappa.core.store.location import Location

FIRST, SECOND = b"first", b"second"


class _Contradiction(Exception):  # noqa: N818 - what was found, on its way to a Finding
    """The store did another thing than what it was asked for."""


def check(store: Location) -> list[Finding]:
    """Put, list, read, put where something is, copy, delete, on files of its own; no finding where all is well.

    What cannot be put cannot be tried further. What is left of the trial is removed, where that can be.
    """
    trial = store / f".check-{uuid4().hex}"
    findings: list[Finding] = []
    for part, act, remedy in _trials(trial):
        if problem := _problem(act):
            findings.append(Finding(f"{part} in {store}", problem, remedy))
            if part == "put":
                break
    return findings


def _trials(trial: Location) -> Iterator[tuple[str, Callable[[], None], str]]:
    """What is tried, in order: part, act, remedy."""
    file = trial / "put"
    rights = "Give the user or role that this runs as the right to {} there"
    yield (
        "put",
        lambda: file.create(FIRST),
        f"{rights.format('write')}, and see that address and keys, or user, are right.",
    )
    yield "list", lambda: _expect("a listing", trial.names(), {"put"}), f"{rights.format('list')}."
    yield "read", lambda: _expect("the file", file.read(), FIRST), f"{rights.format('read')}."
    yield (
        "conditional put",
        lambda: _second(file),
        "Use a store that refuses to put where something is (S3: If-None-Match): without that two drivers may both "
        "believe that a batch is theirs.",
    )
    yield "copy", lambda: _copy(file, trial / "copy"), f"{rights.format('read and write')}."
    yield "delete", lambda: _delete(trial), f"{rights.format('delete')}, and remove {trial}."


def _problem(act: Callable[[], None]) -> str:
    """What went wrong, in words; empty where nothing did."""
    try:
        act()
    except (OSError, Refusal, _Contradiction) as error:
        return next(iter(str(error).splitlines()), "") or type(error).__name__
    return ""


def _expect(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise _Contradiction(f"{what} is {found!r}, and should be {wanted!r}")


def _second(file: Location) -> None:
    """The second put has to be refused, and to change nothing."""
    try:
        file.create(SECOND)
    except FileExistsError:
        _expect("the file after a put that was refused", file.read(), FIRST)
        return
    raise _Contradiction("a second put of one name, which had to be refused, was taken")


def _copy(file: Location, target: Location) -> None:
    file.copy_to(target)
    _expect("the copy", target.read(), file.read())


def _delete(trial: Location) -> None:
    trial.delete()
    _expect("a listing after the delete", trial.files(), {})
