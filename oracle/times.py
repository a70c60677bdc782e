"""Times for people."""

from __future__ import annotations

from datetime import UTC, datetime


def utc(at_ms: int) -> str:
    """A time as ISO 8601 in UTC, to the millisecond where it has one."""
    spec = "milliseconds" if at_ms % 1000 else "seconds"
    return datetime.fromtimestamp(at_ms // 1000, UTC).replace(microsecond=at_ms % 1000 * 1000).isoformat(timespec=spec)


def span(from_ms: int | None, to_ms: int | None) -> str:
    """From one time to another, None being the beginning, or the end, of time."""
    since = "the beginning" if from_ms is None else utc(from_ms)
    return f"from {since} on" if to_ms is None else f"from {since} to {utc(to_ms)}"
