"""What decides numbers besides the code: the versions of Python and of the packages that decode, compute and tell time.

An artifact names those that it was built with (`environment` in its manifest), they are part of its result digest, and
a program of the artifact does not run among others. Standard library only: the control plane reads it, too.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

from kappa.core.refusals import Refusal

logger = logging.getLogger("kappa.environment")
PACKAGES = ("pyspark", "msgspec", "pyarrow", "numpy", "tzdata")
MANIFEST = "manifest.json"
OWN_CODE = Path(__file__).resolve().parents[3]
"""The artifact, or the checkout, that this module is part of."""


class OtherEnvironment(Refusal):
    """The code was built with other versions of what decides numbers than are there."""

    def __init__(self, built: Mapping[str, str], there: Mapping[str, str]) -> None:
        differing = [(name, built.get(name, "none"), there.get(name, "none")) for name in sorted({*built, *there})]
        lines = [("what", "built with", "here"), *(line for line in differing if line[1] != line[2])]
        widths = [max(len(line[column]) for line in lines) for column in range(3)]
        table = "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )
        super().__init__(
            "an artifact runs only in the environment that it was built in, since these versions decide numbers; "
            f"nothing was read.\n{table}\nEither bring back that environment (the commit's uv.lock, then './kappa up' "
            "and './kappa start JOB'), or let the log be counted anew in this one: './kappa build', then "
            "'./kappa reprocess JOB...' with all jobs."
        )


def present() -> dict[str, str]:
    """The versions that are installed here. Of Python what stands before the second dot: what a patch of it could
    change, limits and parsers, is decided by the record (contract, section 1), and a security update stops nobody."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {"python": python, **{name: _installed(name) for name in PACKAGES}}


def check(code: Path | None = None) -> None:
    """Pass where the artifact in this folder (by default this one) was built with what is installed here.

    A checkout has no manifest and is not checked, nor is an artifact that was built before they named it. Raises
    OtherEnvironment.
    """
    manifest = (code or OWN_CODE) / MANIFEST
    if not manifest.exists():
        return
    built = json.loads(manifest.read_text()).get("environment")
    if not built:
        logger.warning("this artifact is older than the naming of packages: with which it was built is unknown")
    elif built != present():
        raise OtherEnvironment(built, present())


@cache
def _installed(name: str) -> str:
    """The version of a package, which stays what it is for as long as the process does: to read it takes a parser of
    mail half a millisecond and more."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "none"
