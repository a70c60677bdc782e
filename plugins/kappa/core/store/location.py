"""A place in a store, and what every store can do: who plans with locations need not know which store it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol
from uuid import uuid4

from kappa.core.refusals import Refusal


class StoreAway(OSError):  # noqa: N818 - a state that passes
    """The store does not answer, or refuses who asks. It passes, or its operator mends it: no file is damaged."""

    def __init__(self, url: str, problem: object) -> None:
        super().__init__(f"the store of {url} cannot be used: {problem}. Nothing is known of its files meanwhile.")


class NoClient(Refusal):
    """The package that speaks to a store is not installed where it is needed."""

    def __init__(self, store: str, package: str, in_a_checkout: str, elsewhere: str) -> None:
        super().__init__(
            f"a store {store} needs the package {package}, which is not installed here. Nothing was read or written. "
            f"Install it: '{in_a_checkout}' in a checkout, '{elsewhere}' elsewhere."
        )


def part_of(name: str) -> str:
    """The name, new each time, under which a file is written before it gets its own: one that no copy takes along."""
    return f".{name}.{uuid4().hex}.tmp"


@dataclass(frozen=True)
class File:
    """A file of a listing: its bytes, and a stamp that a copy shares with its source until either is written again."""

    size: int
    stamp: str


class Store(Protocol):
    """Files by key, as `a/b/c`. A folder is nothing but how keys begin; an empty one need not be seen.

    Each call but `files` and `names` of what is not there raises FileNotFoundError, and StoreAway (an OSError).
    """

    def url(self, key: str) -> str:
        """How Spark is told the place."""

    def names(self, key: str) -> set[str]:
        """The names directly below, of files and of folders; none where nothing is there."""

    def files(self, key: str) -> dict[str, File]:
        """All files below, at any depth, by the rest of their keys; none where nothing is there."""

    def exists(self, key: str) -> bool:
        """Whether there is a file of this key, or any below it."""

    def read(self, key: str) -> bytes:
        """All of a file."""

    def write(self, key: str, data: bytes) -> None:
        """Write a file, whole or not at all; one that is there is replaced."""

    def create(self, key: str, data: bytes) -> None:
        """Write a file that is not there yet: of several who do so at once one succeeds. Raises FileExistsError."""

    def copy(self, source: str, target: str) -> None:
        """Copy a file within the store; one that is there is replaced."""

    def share(self, source: str, target: str) -> None:
        """As `copy`, of a file that nobody will write again: the two may be one on the disk."""

    def remove(self, keys: Iterable[str]) -> None:
        """Delete files; those that are gone already are no matter."""

    def delete(self, key: str) -> None:
        """Delete a file, or all that is below; what is gone already is no matter."""


@dataclass(frozen=True)
class Location:
    """A file or a folder in a store; `/` goes down, `parent` up."""

    store: Store
    key: str

    def __truediv__(self, name: str) -> Location:
        return Location(self.store, f"{self.key.rstrip('/')}/{name}" if self.key else name)

    def __str__(self) -> str:
        """How Spark is told the place."""
        return self.store.url(self.key)

    @property
    def name(self) -> str:
        """The last part of the key."""
        return PurePosixPath(self.key).name

    @property
    def parent(self) -> Location:
        """The folder that it lies in."""
        return Location(self.store, str(PurePosixPath(self.key).parent))

    def names(self) -> set[str]:
        """The names directly below."""
        return self.store.names(self.key)

    def files(self) -> dict[str, File]:
        """All files below, by their names from here on."""
        return self.store.files(self.key)

    def exists(self) -> bool:
        """Whether it is a file, or holds one."""
        return self.store.exists(self.key)

    def size(self) -> int:
        """Bytes of all files below."""
        return sum(file.size for file in self.files().values())

    def read(self) -> bytes:
        """All of the file. Raises FileNotFoundError."""
        return self.store.read(self.key)

    def write(self, data: bytes) -> None:
        """Write the file, whole or not at all."""
        self.store.write(self.key, data)

    def create(self, data: bytes) -> None:
        """Write the file where none is. Raises FileExistsError."""
        self.store.create(self.key, data)

    def copy_to(self, target: Location) -> None:
        """Copy the file within the store."""
        self.store.copy(self.key, target.key)

    def share_with(self, target: Location) -> None:
        """Copy the file, which nobody will write again, within the store."""
        self.store.share(self.key, target.key)

    def remove(self, names: Iterable[str]) -> None:
        """Delete these files below."""
        self.store.remove([(self / name).key for name in names])

    def delete(self) -> None:
        """Delete it, and all that is below."""
        self.store.delete(self.key)
