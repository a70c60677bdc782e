"""The store in a folder that all who use it see at one path; a key is that path."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kappa.core.store.location import File, StoreAway, part_of


@dataclass(frozen=True)
class Folder:
    """Files of the file system. A file's stamp is the time of its change, which a copy takes over.

    Hadoop's local file system keeps a checksum beside each file, `.NAME.crc`: it goes with what is written anew.
    """

    def url(self, key: str) -> str:
        """The path."""
        return key

    def names(self, key: str) -> set[str]:
        """The names directly below; none where nothing is there. Raises StoreAway."""
        try:
            return set(os.listdir(key))
        except (FileNotFoundError, NotADirectoryError):
            return set()
        except OSError as error:
            raise StoreAway(key, error) from error

    def files(self, key: str) -> dict[str, File]:
        """All files below; those that go meanwhile are left out. The files of a folder come before those below it."""
        found: dict[str, File] = {}
        for folder, _, names in os.walk(key):
            for name in names:
                path = os.path.join(folder, name)
                with suppress(FileNotFoundError):
                    is_ = os.stat(path)
                    found[os.path.relpath(path, key)] = File(is_.st_size, str(is_.st_mtime_ns))
        return found

    def exists(self, key: str) -> bool:
        """Whether the file or the folder is there, also an empty one."""
        return os.path.exists(key)

    def read(self, key: str) -> bytes:
        """All of a file. Raises FileNotFoundError; StoreAway where it is there and the file system fails, which says
        nothing of what it holds: no descriptor is free, a disk or a shared folder does not answer."""
        try:
            return Path(key).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            raise
        except OSError as error:
            raise StoreAway(key, error) from error

    def write(self, key: str, data: bytes) -> None:
        """Write a file under a name of its own, then give it the right one."""
        part = _part(Path(key), data)
        _checksum(Path(key)).unlink(missing_ok=True)
        part.replace(key)

    def create(self, key: str, data: bytes) -> None:
        """Write a file where none is: a link fails where its name is taken. Raises FileExistsError."""
        part = _part(Path(key), data)
        try:
            os.link(part, key)
        finally:
            part.unlink()

    def copy(self, source: str, target: str) -> None:
        """Copy a file, and the time of its change as it was before: what is written meanwhile looks changed after."""
        was = os.stat(source)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(source, target)
        os.utime(target, ns=(was.st_atime_ns, was.st_mtime_ns))

    def share(self, source: str, target: str) -> None:
        """A second name for the file; a copy where the file system has no such thing."""
        os.makedirs(os.path.dirname(target), exist_ok=True)
        Path(target).unlink(missing_ok=True)
        try:
            os.link(source, target)
        except FileNotFoundError:
            raise
        except OSError:
            self.copy(source, target)

    def remove(self, keys: Iterable[str]) -> None:
        """Delete files, with their checksums."""
        for key in keys:
            _checksum(Path(key)).unlink(missing_ok=True)
            Path(key).unlink(missing_ok=True)

    def delete(self, key: str) -> None:
        """Delete a file, or a folder with all that is in it."""
        if os.path.isdir(key):
            shutil.rmtree(key, ignore_errors=True)
        else:
            self.remove([key])


def _part(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(part_of(path.name))
    part.write_bytes(data)
    return part


def _checksum(path: Path) -> Path:
    return path.with_name(f".{path.name}.crc")
