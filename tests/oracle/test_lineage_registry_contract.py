"""What `explain` is told of a number and of batches, asked of the fake registry and of a real Postgres alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from oracle.explain import Number, Part
from oracle.fates import Rules
from oracle.lineage import Batch, Registry
from oracle.postgres_lineage import PostgresLineage
from tests.oracle.fake_ports import FakeRegistry
from tests.oracle.served_for_real import LATENESS, Real, add_batch, served_for_real

pytestmark = pytest.mark.rig
JOB = "ad_ctr"
STARTS = {0: 0, 1: 0}
READ = {1: [{0: (0, 7), 1: (0, 2)}, {0: (7, 9), 1: (2, 2)}, {0: (9, 9), 1: (2, 4)}], 2: [{0: (0, 7), 1: (0, 2)}]}
"""What each batch of a version read, by partition: from its start to before its end."""
ASKED: list[dict[int, tuple[int, int]]] = [
    {0: (6, 6)}, {0: (6, 7)}, {0: (7, 8)}, {0: (9, 20)}, {1: (1, 2)}, {0: (0, 0), 1: (3, 3)}, {2: (0, 9)}, {},
]  # fmt: skip
"""The first and the last offset, by partition."""


@dataclass(frozen=True)
class Asked:
    """A number, and what is to be told of it."""

    number: Number
    served: Mapping[str, Any] | None
    part: Part


@pytest.fixture(scope="module")
def real(request: pytest.FixtureRequest) -> Real:
    """Version 1 has two batches more than the log has records; nobody reads those."""
    real = served_for_real(request.getfixturevalue("cases").case("ad_ctr", "client_spend", "quarantine"))
    for number, offsets in enumerate(READ[1][1:], 1):
        starts, ends = ({p: of[at] for p, of in offsets.items()} for at in (0, 1))
        add_batch(real.case, JOB, 1, {"counted": (2, 0)}, ends, starts, number)
    return real


@pytest.fixture(params=["served", "served by the replay", "of nobody"])
def asked(request: pytest.FixtureRequest, real: Real) -> Asked:
    rules = Rules(LATENESS, 300_000, 10_000, None)
    first = Part(1, rules, STARTS, {0: 7, 1: 2}, frozenset({real.first}))
    if request.param == "of nobody":
        return Asked(Number(JOB, "c1", "nobody's", real.first), None, first)
    if request.param == "served":
        row = {"impressions": 2, "clicks": 1, "spend_micros": 9_000, "duplicates": 1, "repeated_clicks": 1}
        return Asked(Number(JOB, "c1", "a1", real.first), {**row, "ctr": Decimal("0.5"), "is_final": False}, first)
    row = {"impressions": 1, "clicks": 0, "spend_micros": 5_000, "duplicates": 0, "repeated_clicks": 0}
    since = Rules(LATENESS, 300_000, 10_000, real.seam)
    part = Part(2, since, STARTS, {0: 7, 1: 2}, frozenset({real.seam}))
    return Asked(Number(JOB, "c1", "a2", real.seam), {**row, "ctr": Decimal(0), "is_final": False}, part)


@pytest.fixture(params=["fake", "real"])
def registry(request: pytest.FixtureRequest, real: Real) -> Callable[[Asked], Registry]:
    """The port on trial, as it is where a number is asked for."""
    if request.param == "real":
        return lambda _: PostgresLineage(real.case.settings.dsn("kappa_operator"))
    at = datetime(2026, 1, 1, tzinfo=UTC)

    def fake(asked: Asked) -> Registry:
        made = [Batch(1, number, 1, at, offsets) for number, offsets in enumerate(READ[asked.part.version])]
        return FakeRegistry(asked.served, [asked.part], made)

    return fake


def test_a_number_is_told_with_the_part_of_who_serves_it(registry: Callable[[Asked], Registry], asked: Asked) -> None:
    found = registry(asked).moment(asked.number)
    assert found.served == asked.served
    assert [behind.part for behind in found.parts] == [asked.part]
    assert all(behind.version["topic"] for behind in found.parts)


def test_batches_are_those_of_the_version_that_read_any_of_the_offsets(
    registry: Callable[[Asked], Registry], asked: Asked
) -> None:
    port, read = registry(asked), READ[asked.part.version]
    for within in ASKED:
        found = port.batches(JOB, asked.part.version, within)
        wanted = [number for number, offsets in enumerate(read) if _any_of(offsets, within)]
        assert [batch.batch_id for batch in found] == wanted, within
        assert [batch.offsets for batch in found] == [read[number] for number in wanted]
    assert not list(port.batches(JOB, 99, {0: (0, 9)}))


def _any_of(offsets: Mapping[int, tuple[int, int]], within: Mapping[int, tuple[int, int]]) -> bool:
    """Offset by offset, unlike both sides."""
    read = {(p, at) for p, (start, end) in offsets.items() for at in range(start, end)}
    return bool(read & {(p, at) for p, (first, last) in within.items() for at in range(first, last + 1)})
