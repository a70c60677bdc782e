"""A small real log and, written into a real Postgres by hand, what all three jobs must show of it: nothing is computed.

ad_ctr serves by two versions: the windows before `seam` by version 1, those from there on by version 2, a replay.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from hashlib import md5
from typing import Any
from zoneinfo import ZoneInfo

from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.log.kafka_log import KafkaLog
from oracle.days import Client
from oracle.fates import FATES, Kept, Rules
from oracle.served import Segment, Served, ServedDay, ServedRow, ServingVersion, Snapshot, Told
from tests.jobs.books import _moment as utc
from tests.rigs.case import Case
from tests.rigs.events import Sent, event

MINUTE, HOUR = 60_000, 3_600_000
LATENESS = 2 * HOUR
ACCOUNT = ("c1", date(2020, 1, 1), "Asia/Tokyo", "EUR", 10_000)
OF_THE_LOG = {"dead_letter": (1, 0), "future": (1, 80)}
"""Records and micros of the fates that are the same for all versions."""
WHOLE = {**OF_THE_LOG, "counted": (4, 14_000), "duplicate": (1, 1_000), "repeated_click": (1, 7_000), "late": (1, 90)}
SINCE_SEAM = {**OF_THE_LOG, "counted": (1, 5_000), "before_start": (6, 17_090)}
REFUSING = {**OF_THE_LOG, "counted": (6, 22_000), "late": (1, 90)}
MEASURES = {
    "impressions": 2, "clicks": 1, "impression_micros": 2_000, "click_micros": 7_000, "seen_impressions": 3,
    "seen_clicks": 2, "seen_impression_micros": 3_000, "seen_click_micros": 14_000,
}  # fmt: skip
AFTER_SEAM = dict.fromkeys(MEASURES, 0) | {
    "impressions": 1, "impression_micros": 5_000, "seen_impressions": 1, "seen_impression_micros": 5_000
}  # fmt: skip


@dataclass(frozen=True)
class Real:
    """The case, its log as it was sent (by partition), the two minutes (ms) of its events, and all append times."""

    case: Case
    sent: Mapping[int, list[Sent]]
    first: int
    appended: Mapping[tuple[int, int], int]

    @property
    def seam(self) -> int:
        """From here on version 2 of ad_ctr serves; the start of the second minute."""
        return self.first + MINUTE

    def reach(self, partition: int) -> int:
        """The newest append_time of a partition."""
        return max(at for (of, _), at in self.appended.items() if of == partition)

    def expected(self) -> Snapshot:
        """What the database must be read as, but for its time."""
        settings = Rules(LATENESS, 300_000, 10_000, None)
        told = {partition: Told(self.reach(partition), None) for partition in self.sent}
        through = min(self.reach(partition) for partition in self.sent) - LATENESS - MINUTE
        held = ServingVersion(
            1, self.case.settings.topic.name, settings, {0: 0, 1: 0}, {0: 7, 1: 2}, told, *_books(WHOLE)
        )
        second = replace(held, version=2, rules=replace(settings, starts_at=self.seam), **_named(_books(SINCE_SEAM)))
        stateless = replace(held, rules=replace(settings, click_interval_ms=None), **_named(_books(REFUSING)))
        segments = (Segment(None, self.seam, 1), Segment(self.seam, None, 2))
        whole = (Segment(None, None, 1),)
        ratio = Decimal("0.50000000000000000000")
        minutes: dict[tuple[object, ...], ServedRow] = {
            ("c1", "a1", self.first): ServedRow(2, 1, 9_000, 1, 1, ratio, False),
            ("c1", "a2", self.seam): ServedRow(1, 0, 5_000, 0, 0, Decimal("0E-20"), False),
        }
        return Snapshot(
            (
                Served("ad_ctr", segments, {1: held, 2: second}, through, ("client_id", "ad_id"), minutes),
                Served("client_spend", whole, {1: held}, through, days=self._days()),
                Served("quarantine", whole, {1: stateless}, through, quarantine=self._kept()),
            ),
            (Client(*ACCOUNT),),
        )

    def _days(self) -> dict[tuple[str, date], ServedDay]:
        found: dict[tuple[str, date], ServedDay] = {}
        for minute, impressions, clicks, micros in ((self.first, 2, 1, 9_000), (self.seam, 1, 0, 5_000)):
            key = ("c1", utc(minute).astimezone(ZoneInfo("Asia/Tokyo")).date())
            day = found.get(key, ServedDay("Asia/Tokyo", "EUR", 10_000, 0, 0, 0, "open"))
            found[key] = replace(
                day, impressions=day.impressions + impressions, clicks=day.clicks + clicks,
                spend_micros=day.spend_micros + micros,
            )  # fmt: skip
        return found

    def _kept(self) -> dict[tuple[int, int], Kept]:
        return {
            place: Kept(self.case.settings.topic.name, self.appended[place], fate, True, *_digests(self._at(place)))
            for place, fate in REFUSED.items()
        }

    def _at(self, place: tuple[int, int]) -> Sent:
        return self.sent[place[0]][place[1]]


REFUSED = {(0, 5): "dead_letter", (0, 6): "late", (1, 1): "future"}
"""Where in the log what quarantine keeps is."""


def served_for_real(case: Case) -> Real:
    """Fill the log and the tables of a case that has all three jobs."""
    now = round(time.time() * 1000)
    first = now // MINUTE * MINUTE - 5 * MINUTE
    sent = _log(first, now)
    for records in sent.values():
        case.produce(records)
    with KafkaLog(case.settings.kafka_access(KafkaUser.CONTROL), case.settings.topic.name) as log:
        times = {(p, at): log.append_time(p, at) for p, records in sent.items() for at in range(len(records))}
    real = Real(case, sent, first, {place: at for place, at in times.items() if at is not None})
    _replay_of_ad_ctr(real)
    _write(real)
    return real


def _log(first: int, now: int) -> dict[int, list[Sent]]:
    one = event(1, partition=0, event_time=first, user_id="u1", cost_micros=1_000)
    click: dict[str, Any] = {"event_type": "click", "user_id": "u1", "cost_micros": 7_000, "partition": 0}
    return {
        0: [
            one, one, event(2, partition=0, event_time=first, user_id="u1", cost_micros=1_000),
            event(3, event_time=first + 1_000, **click), event(4, event_time=first + 2_000, **click),
            Sent(b"u1", b"oops", 0), event(5, partition=0, event_time=now - 3 * HOUR, cost_micros=90),
        ],
        1: [
            event(6, partition=1, event_time=first + MINUTE, ad_id="a2", cost_micros=5_000),
            event(7, partition=1, event_time=now + HOUR, cost_micros=80),
        ],
    }  # fmt: skip


def _replay_of_ad_ctr(real: Real) -> None:
    query, seam = real.case.query, utc(real.seam)
    same = "artifact, state_digest, result_digest, settings, topic, topic_id, start_offsets"
    query(f"insert into registry.job_version (job, version, state, starts_at, {same}) "
          f"select job, 2, 'LIVE', %s, {same} from registry.job_version where job = 'ad_ctr'", seam)  # fmt: skip
    query('insert into registry.progress (job, version, "partition", next_offset) '
          """select job, 2, "partition", 0 from registry.progress where job = 'ad_ctr'""")  # fmt: skip
    query("select registry.add_rows_partition('ad_ctr', 2)")
    query("update registry.segment set to_window = %s where job = 'ad_ctr'", seam)
    query("insert into registry.segment values ('ad_ctr', %s, 'infinity', 2)", seam)


def _write(real: Real) -> None:
    query, first, seam = real.case.query, utc(real.first), utc(real.seam)
    query("insert into reference.client values (%s, %s, %s, %s, %s)", *ACCOUNT)
    ends = {partition: len(records) for partition, records in real.sent.items()}
    for partition, end in ends.items():
        query("update registry.progress set next_offset = %s, end_offset = %s, read_append_time = %s "
              'where "partition" = %s', end, end, utc(real.reach(partition)), partition)  # fmt: skip
    books = (("ad_ctr", 1, WHOLE), ("ad_ctr", 2, SINCE_SEAM), ("client_spend", 1, WHOLE), ("quarantine", 1, REFUSING))
    for job, version, fates in books:
        add_batch(real.case, job, version, fates, ends)
    for version in (1, 2):
        rows = ((("a1", first, MEASURES),) if version == 1 else ()) + (("a2", seam, AFTER_SEAM),)
        for ad, window, measures in rows:
            _insert(real.case, "data.ad_ctr_minute", version=version, client_id="c1", ad_id=ad, window_start=window,
                    **measures)  # fmt: skip
    for window, measures in ((first, MEASURES), (seam, AFTER_SEAM)):
        _insert(real.case, "data.client_spend_minute", version=1, client_id="c1", window_start=window, **measures)
    for place, fate in REFUSED.items():
        sent = real.sent[place[0]][place[1]]
        _insert(real.case, "data.quarantine", version=1, topic=real.case.settings.topic.name, partition=place[0],
                offset=place[1], append_time=utc(real.appended[place]), fate=fate, reason="because", key=sent.key,
                value=sent.value, value_bytes=len(sent.value or b""))  # fmt: skip


def add_batch(
    case: Case,
    job: str,
    version: int,
    fates: Mapping[str, tuple[int, int]],
    ends: Mapping[int, int],
    starts: Mapping[int, int] | None = None,
    number: int = 0,
) -> None:
    """A batch's row in the books: `fates` are records and micros by fate; it read from `starts`, or from 0."""
    told: dict[str, Any] = {fate: fates.get(fate, (0, 0))[0] for fate in FATES}
    told |= {f"{fate}_micros": fates.get(fate, (0, 0))[1] for fate in FATES if fate != "dead_letter"}
    begun = starts or dict.fromkeys(ends, 0)
    start, end = (json.dumps({str(p): offset for p, offset in held.items()}) for held in (begun, ends))
    _insert(case, "registry.batch", job=job, version=version, generation=1, batch_id=number, epoch=1, topic_id="id",
            start_offsets=start, end_offsets=end, read=sum(ends.values()) - sum(begun.values()), rows_changed=1,
            **told)  # fmt: skip


def _insert(case: Case, table: str, **columns: Any) -> None:
    names, marks = ", ".join(f'"{name}"' for name in columns), ", ".join(["%s"] * len(columns))
    case.query(f"insert into {table} ({names}) values ({marks})", *columns.values())


def _books(fates: Mapping[str, tuple[int, int]]) -> tuple[dict[str, int], dict[str, int]]:
    records = {"read": 9, **{fate: fates.get(fate, (0, 0))[0] for fate in FATES}}
    return records, {fate: fates.get(fate, (0, 0))[1] for fate in FATES if fate != "dead_letter"}


def _named(books: tuple[dict[str, int], dict[str, int]]) -> dict[str, Any]:
    return {"records": books[0], "micros": books[1]}


def _digests(sent: Sent) -> tuple[str, str, int]:
    assert sent.key is not None
    assert sent.value is not None
    return md5(sent.key).hexdigest(), md5(sent.value).hexdigest(), len(sent.value)
