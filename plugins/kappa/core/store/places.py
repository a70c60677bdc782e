"""Which store a setting names: a folder, or `s3a://bucket/prefix?endpoint=URL&region=NAME`."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from kappa.core.refusals import Refusal
from kappa.core.store.folder import Folder
from kappa.core.store.location import Location
from kappa.core.store.s3 import Bucket

FOLDER = Folder()
KNOWN = {"endpoint", "region"}


class UnknownStore(Refusal):
    """The store is none that can be used."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(
            f"the store {place} {problem}. Give the path of a folder, or "
            "s3a://BUCKET/PREFIX, with ?endpoint=URL&region=NAME where it is not on AWS."
        )


def at(place: str | Path) -> Location:
    """The location that a setting names. Raises UnknownStore."""
    if isinstance(place, Path) or "://" not in place:
        path = Path(place)
        if not path.is_absolute():
            raise UnknownStore(str(place), "is no absolute path")
        return Location(FOLDER, str(path))
    url = urlsplit(place)
    if url.scheme != "s3a" or not url.netloc:
        raise UnknownStore(place, f"has the scheme '{url.scheme}', or no bucket")
    if "@" in url.netloc:
        raise UnknownStore(f"s3a://...@{url.hostname}", "holds a key; keys come from the environment or a role")
    given = dict(parse_qsl(url.query))
    if unknown := given.keys() - KNOWN:
        raise UnknownStore(place, f"has the unknown option '{min(unknown)}'")
    return Location(Bucket(url.netloc, **given), url.path.strip("/"))
