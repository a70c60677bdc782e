"""The Open Bandit log as traffic: the six CSV files of the PyPI package obp, moved to now and compressed.

ZOZO's log (CC BY 4.0): 60,000 impressions and 287 clicks of 24 to 30 November 2019, three campaigns by two
policies. The rules by which a row becomes events:

- client = campaign; ad = `<campaign>-<item_id>`; slot = `<campaign>-<position>`.
- The log has no user ids, so a user is a visit: a hash of the four user features and the quarter hour of
  the original time. The log counts a second click on the same ad in the same visit (3 of 287), so from
  there on that ad's rows are another visit's, else our rule of one click per interval would drop them
  under compression.
- event_id = UUID version 5 of policy, campaign, row and event type: the same in each play.
- An impression costs by position, 1: 3,000, 2: 2,500, 3: 2,000 micros (CPM 3.00, 2.50, 2.00); a click
  250,000 micros.
- event_time = start of play + (original time - first original time) / compress; a click 2 s of play after
  its impression.
"""

from __future__ import annotations

import csv
import hashlib
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from uuid import UUID, uuid5

from kappa.core.refusals import Refusal
from traffic.records import Event, Kind, Record, encode

POLICIES = ("random", "bts")
CAMPAIGNS = ("all", "men", "women")
IMPRESSION_MICROS = {"1": 3_000, "2": 2_500, "3": 2_000}
CLICK_MICROS = 250_000
CLICK_DELAY_MS = 2_000
SPAN_SECONDS = 604_771
"""First to last original time, rounded up."""
_IDS = UUID("6f0c1f6e-8f43-5a53-9d0b-0b1d6a1a7c11")
_QUARTER_HOUR = timedelta(minutes=15)
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


class Row(NamedTuple):
    """One row of one file; `at` is the original time."""

    at: datetime
    policy: str
    campaign: str
    number: int
    item: str
    position: str
    clicked: bool
    features: str


def files() -> Iterator[tuple[str, str, Path]]:
    """(policy, campaign, CSV file) of the six files, found without importing obp. Raises Refusal where it is absent."""
    spec = find_spec("obp")
    if spec is None or spec.origin is None:
        raise _not_installed("package obp")
    folder = Path(spec.origin).parent / "dataset" / "obd"
    for policy in POLICIES:
        for campaign in CAMPAIGNS:
            file = folder / policy / campaign / f"{campaign}.csv"
            if not file.exists():
                raise _not_installed(file)
            yield policy, campaign, file


def _not_installed(missing: object) -> Refusal:
    return Refusal(
        f"the Open Bandit log is not there ({missing}); it comes with the PyPI package obp 0.4.1. "
        "Run `./kappa` from the checkout, which installs it."
    )


@cache
def rows() -> tuple[Row, ...]:
    """All rows of the six files in the order of their original time. Raises Refusal where it is not installed."""
    return tuple(sorted(row for policy, campaign, file in files() for row in _rows_of(policy, campaign, file)))


def records(start_ms: int, compress: int) -> Iterator[Record]:
    """The log as records in order of play from `start_ms` (epoch ms), `compress` times faster than it
    happened."""
    yield from sorted(_unordered(rows(), start_ms, compress), key=lambda record: record.due)


def play_seconds(compress: int) -> float:
    """How long the whole play lasts."""
    return SPAN_SECONDS / compress + CLICK_DELAY_MS / 1000


def _rows_of(policy: str, campaign: str, file: Path) -> Iterator[Row]:
    with file.open(newline="") as lines:
        reader = csv.reader(lines)
        place = {name: index for index, name in enumerate(next(reader))}
        features = [place[f"user_feature_{n}"] for n in range(4)]
        for cells in reader:
            yield Row(
                at=datetime.fromisoformat(cells[place["timestamp"]]),
                policy=policy,
                campaign=campaign,
                number=int(cells[0]),
                item=cells[place["item_id"]],
                position=cells[place["position"]],
                clicked=cells[place["click"]] == "1",
                features="/".join(cells[index] for index in features),
            )


def _unordered(ordered: tuple[Row, ...], start_ms: int, compress: int) -> Iterator[Record]:
    clicks: Counter[tuple[str, str, str, int]] = Counter()
    for row in ordered:
        due_ms = (row.at - ordered[0].at) // timedelta(milliseconds=1) // compress
        visit = (row.campaign, row.item, row.features, (row.at - _EPOCH) // _QUARTER_HOUR)
        user = _user(row.features, visit[3], clicks[visit])
        yield _record(row, user, start_ms, due_ms, Kind.IMPRESSION)
        if row.clicked:
            clicks[visit] += 1
            yield _record(row, user, start_ms, due_ms + CLICK_DELAY_MS, Kind.CLICK)


def _record(row: Row, user: str, start_ms: int, due_ms: int, kind: Kind) -> Record:
    event = Event(
        event_id=str(uuid5(_IDS, f"{row.policy}/{row.campaign}/{row.number}/{kind}")),
        event_type=kind,
        slot_id=f"{row.campaign}-{row.position}",
        client_id=row.campaign,
        ad_id=f"{row.campaign}-{row.item}",
        user_id=user,
        event_time=start_ms + due_ms,
        cost_micros=CLICK_MICROS if kind is Kind.CLICK else IMPRESSION_MICROS[row.position],
    )
    return Record(user.encode(), encode(event), due_ms / 1000, kind)


def _user(features: str, quarter_hour: int, earlier_clicks: int) -> str:
    visit = f"{features}/{quarter_hour}" + (f"/{earlier_clicks}" if earlier_clicks else "")
    return "v" + hashlib.blake2b(visit.encode(), digest_size=8).hexdigest()
