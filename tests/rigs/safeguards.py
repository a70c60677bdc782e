"""The safeguards of the data path, and by what each is taken away in a running process: nothing in the product knows of
it. A bench shows what is lost without one; the tests show that they see it (tests/red_without.py)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import pyarrow as pa

from kappa.core.refusals import Refusal

Stead = Callable[..., Any]
"""Takes what stood there, and what the test says besides; gives what is put in its place."""


class SafeguardMoved(Refusal):
    """The code has changed since the patch was written."""

    def __init__(self, place: str) -> None:
        super().__init__(f"there is no {place} to take away; nothing was changed. Put the patch right.")


@dataclass(frozen=True)
class Safeguard:
    """Stands at `place` (module:name, or module:Class.name); `patch` says what is in force without it."""

    place: str
    patch: str
    stead: Stead

    @contextmanager
    def taken_away(self, *more: object) -> Iterator[None]:
        """Without it while the body runs. Raises SafeguardMoved."""
        holder, name = self._found()
        there = vars(holder)[name]
        setattr(holder, name, self.stead(there, *more))
        try:
            yield
        finally:
            setattr(holder, name, there)

    def _found(self) -> tuple[Any, str]:
        module, _, path = self.place.partition(":")
        *inner, name = path.split(".")
        try:
            holder: Any = import_module(module)
            for each in inner:
                holder = getattr(holder, each)
        except (ImportError, AttributeError):
            raise SafeguardMoved(self.place) from None
        if name not in vars(holder):
            raise SafeguardMoved(self.place)
        return holder, name


def _nothing(_there: Stead) -> Stead:
    """It is called, and does nothing."""
    return lambda *_, **__: None


def _skew_of_nothing(_there: Stead) -> Stead:
    return lambda *_: 0


def _committed_before(there: Stead) -> Stead:
    """A transaction ends, and another begins, before it does its work."""

    def apart(cursor: Any, *given: Any) -> Any:
        cursor.execute("commit")
        cursor.execute("begin")
        return there(cursor, *given)

    return apart


def _joined_always(there: Stead) -> Stead:
    """A batch that does not join is taken for one that does."""

    def joined(cursor: Any, owner: Any, batch: Any) -> Any:
        try:
            return there(cursor, owner, batch)
        except Refusal:
            return dict(batch.end), None

    return joined


def _of_generation_1(there: Stead) -> Stead:
    """Batches of all generations are taken for those of the first."""
    return lambda cursor, owner, batch: there(cursor, replace(owner, generation=1), batch)


def _of_any_generation(there: Stead) -> Stead:
    """The newest batch is that of the first generation, whichever is asked for."""
    return lambda registry, _generation: there(registry, 1)


def _of_the_newest(there: Stead) -> Stead:
    """Of the records that were read the last ones are looked for, and none before them."""
    return lambda witness, position, *last: there(witness, position, last[-1])


def _without_limit(setting: str) -> Callable[[Stead], Stead]:
    """The limit of that name is never reached."""

    def stead(there: Stead) -> Stead:
        return lambda settings, start: there({**settings, setting: 10**15}, start)

    return stead


def _by_the_clock(there: Stead) -> Stead:
    """Fates are decided by the time of who reads, not by the time at which a record was appended."""

    def rule(settings: Mapping[str, int], start: int | None) -> Any:
        decide = there(settings, start)

        def by_the_clock(batch: pa.RecordBatch) -> Any:
            now = pa.array([time.time_ns() // 10**6] * batch.num_rows, pa.int64())
            return decide(batch.set_column(batch.schema.get_field_index("append_ms"), "append_ms", now))

        return by_the_clock

    return rule


def _but_column(there: Stead, column: str) -> Stead:
    """A difference in the columns of that name is not seen."""

    def compared(*given: Any) -> Any:
        found = there(*given)
        return replace(found, differences=[each for each in found.differences if each.column != column])

    return compared


def _agreed(_there: Stead) -> Stead:
    """No differences, and nothing that was not compared."""
    return lambda *_: ([], [])


SAFEGUARDS: Mapping[str, Safeguard] = {
    "fence": Safeguard(
        "jobs.sinks.ledger:_hold_fence", "who was taken over may write", _nothing
    ),
    "heard": Safeguard(
        "jobs.driver.heartbeat:Heartbeats.await_heard", "a driver that nobody hears begins batches", _nothing
    ),
    "one transaction": Safeguard(
        "jobs.sinks.ledger:_record", "rows are committed before counts and offsets", _committed_before
    ),
    "offset join": Safeguard(
        "jobs.sinks.ledger:_join", "a batch may begin and end anywhere", _joined_always
    ),
    "caught up": Safeguard(
        "kappa.registry.releases.hand_over:_await_targets", "versions come to serve that lag behind the live ones",
        _nothing,
    ),
    "double entry": Safeguard(
        "jobs.sinks.entries:check", "rows may change by something else than what was read", _nothing
    ),
    "generation of a batch": Safeguard(
        "jobs.sinks.ledger:_join", "a batch id means the same batch in every generation", _of_generation_1
    ),
    "generation at the start": Safeguard(
        "jobs.driver.registry:DriverRegistry.newest_batch", "a checkpoint is judged by batches of another generation",
        _of_any_generation,
    ),
    "checkpoint behind": Safeguard(
        "jobs.driver.failures:check", "a checkpoint may be older than the database, or newer", _nothing
    ),
    "checkpoint elsewhere": Safeguard(
        "jobs.driver.failures:check_offsets", "a checkpoint may end at other offsets than the database", _nothing
    ),
    "topic id": Safeguard(
        "jobs.driver.log_identity:check_id", "any topic of the name will do", _nothing
    ),
    "position": Safeguard(
        "jobs.driver.log_identity:check_records", "nobody looks whether the last record read is still there", _nothing
    ),
    "position before": Safeguard(
        "jobs.driver.log_identity:LogWitness.ask", "of what was read the newest batch alone is sought", _of_the_newest
    ),
    "answer of the log": Safeguard(
        "jobs.driver.log_identity:Answer.check", "a batch is committed whatever the log says by then", _nothing
    ),
    "future bound": Safeguard(
        "jobs.transforms.fates:rule", "an event may be as far in the future as it likes",
        _without_limit("future_bound_ms"),
    ),
    "lateness": Safeguard(
        "jobs.transforms.fates:rule", "an event may be as old as it likes", _without_limit("allowed_lateness_ms")
    ),
    "lateness by append time": Safeguard(
        "jobs.transforms.fates:rule", "an event's age is told by the clock of who reads it", _by_the_clock
    ),
    "guard": Safeguard(
        "jobs.driver.watermark:check_watermark", "no look one batch ahead of the watermark", _nothing
    ),
    "skew": Safeguard(
        "jobs.driver.watermark:read_skew_ms", "the watermark's delay leaves out the log's unevenness", _skew_of_nothing
    ),
    "oracle's column": Safeguard(
        "oracle.reconcile:compare", "the oracle does not look at one of the columns", _but_column
    ),
    "oracle's agreement": Safeguard(
        "oracle.reconcile:disagreements", "nobody holds the rules and the spend of two jobs against each other", _agreed
    ),
}  # fmt: skip
