"""Certificates of an authority of a test's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stack.services import certificates

DAYS = 60
"""Doctor asks that a certificate last 30 days more."""


def certify(folder: Path, hosts: Sequence[str]) -> Path:
    """The authority's file, and one key with a certificate for all hosts (`host.pem`, `host.key`, `host.both.pem`)."""
    certificates.ensure(folder, "host", [*hosts, "localhost"], DAYS)
    return folder / "ca.pem"
