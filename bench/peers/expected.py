"""What an engine must show of a stretch of the log, by the oracle, and the rows in which it does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings
from oracle.decode import decode
from oracle.fates import Ledger, Reading, Rules
from oracle.topic import KafkaTopic

RULES = Rules(allowed_lateness_ms=7_200_000, future_bound_ms=300_000, click_interval_ms=10_000, starts_at=None)
"""The defaults of the contract, section 2; each peer has them written in its own words."""
NEVER_MS = 2**62
KEYS = ("client_id", "ad_id")
Rows = Mapping[tuple[object, ...], tuple[int, int, int]]
"""(client_id, ad_id, minute in epoch ms) -> impressions, clicks, spend in micros."""


@dataclass(frozen=True)
class Stretch:
    """A part of the log: partition -> first offset, partition -> offset after the last."""

    starts: dict[int, int]
    ends: dict[int, int]

    @property
    def records(self) -> int:
        """How many records lie in it; the contract promises offsets without gaps."""
        return sum(end - self.starts[partition] for partition, end in self.ends.items())


def ends(settings: Settings) -> dict[int, int]:
    """partition -> offset after the last record, now."""
    return {partition: end for partition, (_, end) in _topic(settings).bounds().items()}


def expected(settings: Settings, stretch: Stretch) -> Rows:
    """The rows of that stretch, read from the log now."""
    reading = Reading(RULES, tuple(stretch.starts.items()), tuple(stretch.ends.items()))
    ledger = Ledger(reading, frozenset({KEYS}))
    for record in _topic(settings).stretch(stretch.starts, stretch.ends, NEVER_MS):
        ledger.take(record, decode(record))
    return {key: (row.impressions, row.clicks, row.spend_micros) for key, row in ledger.rows[KEYS].items()}


def counted(rows: Rows) -> int:
    """Impressions and clicks of all rows."""
    return sum(impressions + clicks for impressions, clicks, _ in rows.values())


def differences(rows: Rows, shown: Rows) -> list[tuple[object, ...]]:
    """Each key that has not the same row on both sides, or is on one side only."""
    return sorted((key for key in rows.keys() | shown.keys() if rows.get(key) != shown.get(key)), key=str)


def _topic(settings: Settings) -> KafkaTopic:
    return KafkaTopic(settings.kafka_access(KafkaUser.READER).librdkafka(), settings.topic.name)
