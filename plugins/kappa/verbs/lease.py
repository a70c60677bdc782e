"""Hold a version for one run of a verb: take the lease or wait for it, give it back, and check that it is held."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kappa.core.audit import Author
from kappa.core.refusals import Refusal
from kappa.core.versions import Lease
from kappa.platform import Platform, pause_seconds
from kappa.registry.port import UnderWay
from kappa.verbs.change.recovery import settle
from kappa.verbs.desired import Found

PAUSE_SECONDS = 2.0
IsOver = Callable[[Lease], bool]
"""Whether the run that holds a lease is known to have ended."""


class NotHolder(Refusal):
    """A step was to act on a version that its run does not hold."""

    def __init__(self, job: str, version: int, by: Author, holder: Lease | None) -> None:
        held = f"{holder.sentence()}" if holder else "nobody holds it"
        super().__init__(
            f"run {by.run_id} does not hold {job} v{version} ({held}), so it may not act on it; nothing was changed. "
            "Clear the run from its first task on, or start a new one."
        )


def target(platform: Platform, job: str) -> int:
    """The number of the version that a verb on the job means: the current one, else the one that would be made."""
    there = Found(platform.registry.versions(job), platform.registry.segments(job))
    current = there.current()
    return current.version if current else there.next_number()


def take(
    platform: Platform, verb: str, job: str, by: Author, seconds: float, wait_seconds: float, is_over: IsOver
) -> Lease:
    """The lease on the job's version; what an earlier run left half done there is settled first.

    While another run holds it, asked again for `wait_seconds`; a run that is over holds nothing. Raises UnderWay.
    """
    lease = _taken(platform, verb, job, by, seconds, wait_seconds, is_over)
    orphan = platform.registry.open_change(job, lease.version)
    if orphan is not None and orphan.run_id != by.run_id:
        settle(platform, orphan, by)
    return lease


def take_on(
    platform: Platform,
    verb: str,
    versions: Mapping[str, int],
    by: Author,
    seconds: float,
    wait_seconds: float,
    is_over: IsOver,
) -> list[Lease]:
    """The leases on these versions (by job), in the order of the jobs; LIVE_END is a job's live end.

    Waits as `take` does. Taken again by the same run, they get a new end. Raises UnderWay: what this call took before
    stays with the run, which gives everything back at its end.
    """
    return [
        _asked(platform, verb, job, lambda number=number: number, by, seconds, wait_seconds, is_over)  # type: ignore[misc]
        for job, number in sorted(versions.items())
    ]


def renew(platform: Platform, verb: str, versions: Mapping[str, int], by: Author, seconds: float) -> None:
    """Give the leases that the run holds on these versions a new end, so many seconds from now.

    What it lost is not taken back: another run may have acted on it. Raises NotHolder, UnderWay.
    """
    check_all(platform, versions, by)
    take_on(platform, verb, versions, by, seconds, 0.0, nobody_ended)


def check_all(platform: Platform, versions: Mapping[str, int], by: Author) -> None:
    """Pass when the run holds all of these versions. Raises NotHolder."""
    for job, version in sorted(versions.items()):
        check(platform, job, version, by)


def release(platform: Platform, by: Author) -> None:
    """Give back what the run holds; nothing happens when it holds nothing."""
    platform.registry.release_leases(by)


def check(platform: Platform, job: str, version: int, by: Author) -> None:
    """Pass when the run holds the version. Raises NotHolder."""
    holder = platform.registry.lease(job, version)
    if holder is None or holder.run_id != by.run_id:
        raise NotHolder(job, version, by, holder)


def _taken(
    platform: Platform, verb: str, job: str, by: Author, seconds: float, wait_seconds: float, is_over: IsOver
) -> Lease:
    return _asked(platform, verb, job, lambda: target(platform, job), by, seconds, wait_seconds, is_over)


def _asked(
    platform: Platform,
    verb: str,
    job: str,
    which: Callable[[], int],
    by: Author,
    seconds: float,
    wait_seconds: float,
    is_over: IsOver,
) -> Lease:
    began = platform.clock.monotonic()
    while True:
        version = which()
        try:
            over = _dead_holder(platform, job, version, by, is_over)
            return platform.registry.take_lease(verb, job, version, by, seconds, over)
        except UnderWay:
            waited = platform.clock.monotonic() - began
            if waited >= wait_seconds:
                raise
            platform.clock.sleep(pause_seconds(waited, PAUSE_SECONDS))


def _dead_holder(platform: Platform, job: str, version: int, by: Author, is_over: IsOver) -> str | None:
    """The run that holds the version and has ended, if that is so."""
    holder = platform.registry.lease(job, version)
    if holder is None or holder.run_id == by.run_id or not is_over(holder):
        return None
    return holder.run_id


def nobody_ended(_: Lease) -> bool:
    """Where nobody can be asked, the holder of a lease is taken to be at work until its time is over."""
    return False
