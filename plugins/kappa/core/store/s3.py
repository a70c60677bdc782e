"""The store in a bucket of S3, or of a server that speaks as S3 does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

from kappa.core.store.location import File, NoClient, StoreAway

if TYPE_CHECKING:
    from obstore.store import S3Store

CREDENTIALS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_ROLE_ARN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
)
"""Variables by which a process may use a bucket; without any of them, the role of its machine counts."""
LONGEST = timedelta(seconds=30)
RETRIES = 5


@dataclass(frozen=True)
class Bucket:
    """Objects of a bucket. `endpoint` is empty for AWS; keys come from the environment or the machine's role.

    An object without bytes is what others leave where they think of a folder: no listing has it. A file's stamp is its
    ETag, which a copy made by the server keeps, but for one that was uploaded in parts.
    """

    name: str
    endpoint: str = ""
    region: str = "us-east-1"

    def url(self, key: str) -> str:
        """As Hadoop names it."""
        return f"s3a://{self.name}/{key}"

    def names(self, key: str) -> set[str]:
        """The names directly below."""
        return {name.split("/", 1)[0] for name in self.files(key)}

    def files(self, key: str) -> dict[str, File]:
        """All objects below, in the order of their keys."""
        prefix, found = f"{key}/", {}
        with self._asked(key) as client:
            for page in _obstore().list(client, prefix=key or None):
                for one in page:
                    path = str(one["path"])
                    if one["size"] and path.startswith(prefix if key else ""):
                        found[path.removeprefix(prefix)] = File(one["size"], str(one["e_tag"]))
        return found

    def exists(self, key: str) -> bool:
        """Whether there is such an object, or one below."""
        if self.files(key):
            return True
        try:
            self.read(key)
        except FileNotFoundError:
            return False
        return True

    def read(self, key: str) -> bytes:
        """All of an object. Raises FileNotFoundError."""
        with self._asked(key) as client:
            return bytes(_obstore().get(client, key).bytes())

    def write(self, key: str, data: bytes) -> None:
        """Put an object."""
        with self._asked(key) as client:
            _obstore().put(client, key, data)

    def create(self, key: str, data: bytes) -> None:
        """Put an object by If-None-Match: the server refuses all but the first. Raises FileExistsError."""
        with self._asked(key) as client:
            _obstore().put(client, key, data, mode="create")

    def copy(self, source: str, target: str) -> None:
        """Copy on the server. Raises FileNotFoundError."""
        with self._asked(source) as client:
            _obstore().copy(client, source, target)

    def share(self, source: str, target: str) -> None:
        """Copy on the server: objects have one name."""
        self.copy(source, target)

    def remove(self, keys: Iterable[str]) -> None:
        """Delete objects, a thousand a request."""
        if paths := list(keys):
            with self._asked(paths[0]) as client:
                _obstore().delete(client, paths)

    def delete(self, key: str) -> None:
        """Delete an object and all below."""
        self.remove([key, *(f"{key}/{name}" for name in self.files(key))])

    @contextmanager
    def _asked(self, key: str) -> Iterator[S3Store]:
        """The client; what goes wrong has the names of the port. Raises NoClient."""
        obstore = _obstore()
        try:
            yield _client(self)
        except obstore.exceptions.AlreadyExistsError as error:
            raise FileExistsError(f"{self.url(key)} is there already") from error
        except obstore.exceptions.BaseError as error:
            raise StoreAway(self.url(key), next(iter(str(error).splitlines()), error)) from error


@cache
def _client(bucket: Bucket) -> S3Store:
    from obstore.store import S3Store

    given = {"endpoint": bucket.endpoint, "virtual_hosted_style_request": False} if bucket.endpoint else {}
    return S3Store(
        bucket.name,
        region=bucket.region,
        client_options={"timeout": LONGEST, "connect_timeout": "5s", "allow_http": bucket.endpoint.startswith("http:")},
        retry_config={"max_retries": RETRIES, "retry_timeout": LONGEST},
        **given,  # type: ignore[arg-type]
    )


def _obstore() -> ModuleType:
    """The package, loaded where it is first needed. Raises NoClient."""
    try:
        import obstore
        import obstore.exceptions
        import obstore.store
    except ModuleNotFoundError as missing:
        raise NoClient("on S3", "obstore", "uv sync --extra s3", "pip install kappa-ads[s3]") from missing
    return obstore
