"""The store in HDFS: Spark asks its name node, the control plane speaks WebHDFS."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from kappa.core.store.location import File, NoClient, StoreAway, part_of

if TYPE_CHECKING:
    import httpx

USER = "HADOOP_USER_NAME"
VARIABLES = (USER, "HADOOP_CONF_DIR")
"""By which a process says who it is, to Spark's client and to ours (without it, its own user), and where Spark's client
finds the files of its site."""
LONGEST_SECONDS, CONNECT_SECONDS = 30.0, 5.0
RETRIES = 3
PIECE = 2**20
_NAMED = {"FileNotFoundException": FileNotFoundError, "FileAlreadyExistsException": FileExistsError}
"""What the port calls an exception of Hadoop's; any other is a store that cannot be used."""


@dataclass(frozen=True)
class Hdfs:
    """Files of one HDFS: `name` is its name node's HOST:PORT, or the name of a service, as Spark's client knows it;
    `http` the URL at which the name node, or a gateway of HttpFS, speaks WebHDFS.

    HDFS copies nothing itself: a copy goes through whoever asks for it. A file's stamp is the time of its change, which
    a copy takes over.
    """

    name: str
    http: str

    def url(self, key: str) -> str:
        """As Hadoop names it."""
        return f"hdfs://{self.name}/{key}"

    def names(self, key: str) -> set[str]:
        """The names directly below; a file has none."""
        return {name for name, _ in self._listed(key)}

    def files(self, key: str) -> dict[str, File]:
        """All files below; what goes meanwhile is left out."""
        found, folders = {}, [""]
        while folders:
            folder = folders.pop()
            for name, status in self._listed(f"{key}/{folder}".rstrip("/")):
                path = f"{folder}/{name}".lstrip("/")
                if status["type"] == "DIRECTORY":
                    folders.append(path)
                else:
                    found[path] = File(status["length"], str(status["modificationTime"]))
        return found

    def exists(self, key: str) -> bool:
        """Whether the file or the folder is there, also an empty one."""
        try:
            self._asked("GET", key, "GETFILESTATUS")
        except FileNotFoundError:
            return False
        return True

    def read(self, key: str) -> bytes:
        """All of a file. Raises FileNotFoundError."""
        return self._asked("GET", key, "OPEN").content

    def write(self, key: str, data: bytes) -> None:
        """Write a file under a name of its own, then give it the right one."""
        self._put(key, data, "OVERWRITE")

    def create(self, key: str, data: bytes) -> None:
        """As `write`, but the name node renames nothing to a name that is taken. Raises FileExistsError."""
        self._put(key, data, "NONE")

    def copy(self, source: str, target: str) -> None:
        """Read and write a file piece by piece, with the time of its change as it was before. Raises
        FileNotFoundError."""
        was = self._asked("GET", source, "GETFILESTATUS").json()["FileStatus"]
        with self._errors(source), _client().stream("GET", self._address(source), params=_asking("OPEN")) as answer:
            _refuse(answer)
            self._put(target, answer.iter_bytes(PIECE), "OVERWRITE", was["modificationTime"])

    def share(self, source: str, target: str) -> None:
        """A copy: HDFS has no second name for a file."""
        self.copy(source, target)

    def remove(self, keys: Iterable[str]) -> None:
        """Delete files."""
        for key in keys:
            self._asked("DELETE", key, "DELETE", recursive="false")

    def delete(self, key: str) -> None:
        """Delete a file, or a folder with all that is in it."""
        self._asked("DELETE", key, "DELETE", recursive="true")

    def _listed(self, key: str) -> list[tuple[str, dict[str, Any]]]:
        """Name and status of what is directly below. Of a file the name node tells the file itself, without a name."""
        try:
            statuses = self._asked("GET", key, "LISTSTATUS").json()["FileStatuses"]["FileStatus"]
        except FileNotFoundError:
            return []
        return [(status["pathSuffix"], status) for status in statuses if status["pathSuffix"]]

    def _put(self, key: str, data: bytes | Iterator[bytes], how: str, changed_ms: int | None = None) -> None:
        """Write beside the file, then rename as `how` says."""
        folder, _, name = key.rpartition("/")
        part = f"{folder}/{part_of(name)}"
        place = self._asked("PUT", part, "CREATE", overwrite="true", noredirect="true").json()["Location"]
        try:
            with self._errors(key):
                _refuse(_client().put(place, content=data, headers={"Content-Type": "application/octet-stream"}))
            if changed_ms is not None:
                self._asked("PUT", part, "SETTIMES", modificationtime=str(changed_ms))
            self._asked("PUT", part, "RENAME", destination=f"/{key}", renameoptions=how)
        except BaseException:
            with suppress(OSError):
                self.delete(part)
            raise

    def _asked(self, method: str, key: str, operation: str, **given: str) -> httpx.Response:
        """The answer to an operation of WebHDFS. Raises FileNotFoundError, FileExistsError, StoreAway, NoClient."""
        with self._errors(key):
            return _refuse(_client().request(method, self._address(key), params=_asking(operation, **given)))

    def _address(self, key: str) -> str:
        return f"{self.http.rstrip('/')}/webhdfs/v1/{quote(key)}"

    @contextmanager
    def _errors(self, key: str) -> Iterator[None]:
        """What goes wrong has the names of the port."""
        httpx = _httpx()
        try:
            yield
        except httpx.HTTPError as error:
            raise StoreAway(self.url(key), str(error) or type(error).__name__) from error
        except _Refused as error:
            named = _NAMED.get(error.exception)
            raise named(f"{self.url(key)}: {error}") if named else StoreAway(self.url(key), error) from error


class _Refused(Exception):  # noqa: N818 - Hadoop's exception, on its way to a name of the port
    """An answer that is none: Hadoop's exception by its name, and what it says."""

    def __init__(self, exception: str, said: str) -> None:
        super().__init__(next(iter(said.splitlines()), "") or exception)
        self.exception = exception


def _refuse(answer: httpx.Response) -> httpx.Response:
    """The answer, unless it tells of an exception. Raises _Refused."""
    if answer.is_success:
        return answer
    answer.read()
    try:
        told = answer.json()["RemoteException"]
    except (ValueError, KeyError):
        raise _Refused("", f"HTTP {answer.status_code}") from None
    raise _Refused(told["exception"], told["message"])


def _asking(operation: str, **given: str) -> dict[str, str]:
    return {"op": operation, "user.name": os.environ.get(USER) or getpass.getuser(), **given}


@cache
def _client() -> httpx.Client:
    """The client of this process: connections are kept, and one that cannot be made is tried again. Raises NoClient."""
    given = _httpx()
    timeout = given.Timeout(LONGEST_SECONDS, connect=CONNECT_SECONDS)
    kept = given.HTTPTransport(retries=RETRIES)
    client: httpx.Client = given.Client(timeout=timeout, follow_redirects=True, transport=kept)
    return client


def _httpx() -> ModuleType:
    """The package, loaded where it is first needed. Raises NoClient."""
    try:
        import httpx
    except ModuleNotFoundError as missing:
        raise NoClient("in HDFS", "httpx", "uv sync", "pip install httpx") from missing
    return httpx
