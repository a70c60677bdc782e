"""The refusals of a replay, one per cause; all of them before anything is staged."""

from __future__ import annotations

from collections.abc import Sequence

from kappa.code.differences import Difference, table
from kappa.core.refusals import Refusal
from kappa.verbs.replay.price import duration
from kappa.verbs.start_point import utc


class StartNotFinal(Refusal):
    """Windows before T could still change in the live version, which would keep serving them."""

    def __init__(self, starts_ms: int, job: str, largest_ms: int | None) -> None:
        known = f"the largest T is {utc(largest_ms)}" if largest_ms is not None else "no window of it is final yet"
        remedy = f"--from {utc(largest_ms)}, or an earlier time" if largest_ms is not None else "--from earliest"
        super().__init__(
            f"a replay from T={utc(starts_ms)} leaves the windows before T to the live version of {job}, so these must "
            f"be final, and {known}. Nothing was staged. Start earlier ({remedy}), or wait until the live version "
            f"has come further."
        )


class NoExactStart(Refusal):
    """What the log still holds begins after the last window that is final."""

    def __init__(self, smallest_ms: int, job: str, largest_ms: int | None) -> None:
        known = f"final up to {utc(largest_ms)} only" if largest_ms is not None else "not final anywhere yet"
        super().__init__(
            f"the smallest exact start is {utc(smallest_ms)}, before which the log begins too late, and the live "
            f"{job} is {known}: no T fits both. Nothing was staged. Wait until the live version has read past "
            f"{utc(smallest_ms)} ('./kappa status --job {job}'), then ask again."
        )


class LogWillBeTooShort(Refusal):
    """The log holds the range now, and loses a part of it before the replay gets there.

    A start that is safe lies `safe_ms` or later; where that is after `now_ms`, there is none.
    """

    def __init__(self, short_seconds: float, per_s: float, retention_ms: int, safe_ms: int, now_ms: int) -> None:
        later = f"Start at {utc(safe_ms)} or later (--from)," if safe_ms <= now_ms else "No later start helps:"
        super().__init__(
            f"at {per_s:,.0f} records/s the replay would come {duration(short_seconds)} too late for a record that it "
            f"needs: the log keeps {duration(retention_ms / 1000)}. Nothing was staged. {later} read faster (--rate, "
            f"--cores), or lengthen the topic's retention.ms, and ask again."
        )


class NeverCatchesUp(Refusal):
    """The candidate would read no faster than producers write."""

    def __init__(self, job: str, per_s: float, arrivals_per_s: float) -> None:
        super().__init__(
            f"a replay of {job} at {per_s:,.0f} records/s would never catch up with the {arrivals_per_s:,.0f} that "
            f"arrive each second; nothing was staged. Allow it more: --rate above {arrivals_per_s:,.0f}, --cores N, or "
            f"wait for a quieter hour."
        )


class NoFreeCores(Refusal):
    """The worker cannot place all candidates beside what runs."""

    def __init__(self, jobs: Sequence[str], wanted: int, free: int) -> None:
        super().__init__(
            f"the candidates of {', '.join(jobs)} would take {wanted} cores of the worker, and {free} are free; a "
            f"replay takes none from a live job. Nothing was staged. Give it fewer (--cores N), replay one job at a "
            f"time, stop what is not needed ('./kappa status'), or raise worker_cores in kappa.toml."
        )


class ExactParityOfOtherLogic(Refusal):
    """Other logic cannot be asked to give the same rows."""

    def __init__(self, job: str, live: int, differences: tuple[Difference, ...]) -> None:
        super().__init__(
            f"parity exact asks for the very rows of {job} v{live}, and the replay would compute others, for these "
            f"differ:\n{table(differences)}\nNothing was staged. Say what may differ (--parity declared with a band "
            f"for each measure), only have it reported (--parity report), or replay the same code and settings."
        )


class RateOutOfRange(Refusal):
    """The read rate is none that batches can keep."""

    def __init__(self, rate: int, least: int, most: int) -> None:
        super().__init__(
            f"a read rate of {rate} records/s cannot be kept by batches: it must lie between {least} and {most:,}. "
            f"Nothing was staged. Give another --rate, or none: then the job's own settings hold."
        )


class RateGivenTwice(Refusal):
    """A read rate and the settings that it becomes were both given."""

    def __init__(self, rate: int, settings: Sequence[str]) -> None:
        super().__init__(
            f"a read rate ({rate} records/s) sets {' and '.join(settings)}, which were given, too; nothing was staged. "
            f"Give the rate or the settings."
        )
