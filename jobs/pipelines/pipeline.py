"""What a pipeline is given: the settings of a version and what was found out at the start of its query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Run:
    """One run of a version's query.

    `starts_at_ms` is the version's T in epoch ms (None: it starts with the log); `partitions` are those of the topic
    that the version reads; `watermark_delay_ms` frees state and decides nothing else.
    """

    settings: Mapping[str, int]
    starts_at_ms: int | None
    partitions: tuple[int, ...]
    watermark_delay_ms: int
