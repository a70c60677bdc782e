"""Which store a setting names: a folder, `s3a://bucket/prefix?endpoint=URL&region=NAME`, or
`hdfs://namenode:port/folder?http=URL`."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, urlsplit

from kappa.core.refusals import Refusal
from kappa.core.store.folder import Folder
from kappa.core.store.hdfs import Hdfs
from kappa.core.store.location import Location, Store
from kappa.core.store.s3 import Bucket

FOLDER = Folder()
KNOWN = {"s3a": {"endpoint", "region"}, "hdfs": {"http"}}
"""Options of each scheme."""


class UnknownStore(Refusal):
    """The store is none that can be used."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(
            f"the store {place} {problem}. Give the path of a folder; "
            "s3a://BUCKET/PREFIX, with ?endpoint=URL&region=NAME where it is not on AWS; or "
            "hdfs://NAMENODE:PORT/FOLDER?http=URL, where it speaks WebHDFS at that URL."
        )


def at(place: str | Path) -> Location:
    """The location that a setting names. Raises UnknownStore."""
    if isinstance(place, Path) or "://" not in place:
        path = Path(place)
        if not path.is_absolute():
            raise UnknownStore(str(place), "is no absolute path")
        return Location(FOLDER, str(path))
    url = urlsplit(place)
    if url.scheme not in KNOWN or not url.netloc:
        raise UnknownStore(place, f"has the scheme '{url.scheme}', or no bucket or name node")
    if "@" in url.netloc:
        where = f"{url.scheme}://...@{url.hostname}"
        raise UnknownStore(where, "holds a user or a key; those come from the environment or a role")
    given = dict(parse_qsl(url.query))
    if unknown := given.keys() - KNOWN[url.scheme]:
        raise UnknownStore(place, f"has the unknown option '{min(unknown)}'")
    return Location(_store(place, url, given), url.path.strip("/"))


def _store(place: str, url: SplitResult, given: dict[str, str]) -> Store:
    if url.scheme == "s3a":
        return Bucket(url.netloc, **given)
    if not given.get("http"):
        raise UnknownStore(place, "does not say where it speaks WebHDFS")
    if not url.path.strip("/"):
        raise UnknownStore(place, "names no folder")
    return Hdfs(url.netloc, given["http"])
