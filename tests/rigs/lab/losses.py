"""Ways to lose a host of a lab and to have it back, and what the stream made of it: pauses, refused batches."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from pathlib import Path

import psutil

from stack.waiting import until
from tests.rigs.lab.parts import BROKERS, WORKERS
from tests.rigs.lab.services import Installed

AWAY_SECONDS = 45.0
"""At least so long a host is away: twice as long as the master waits for it."""
BACK_SECONDS = 30.0
"""So long the stream is watched once the host is back."""
SPREAD_SECONDS = 60.0
"""So long an executor may take to its start on the other host."""
WORKS_SECONDS = 20.0
"""A stream whose last commit is no older does its work."""
PATIENCE_SECONDS = 600.0
"""On busy cores the start of a driver and its first batch take minutes."""
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
REFUSED = re.compile(r"Batch (\d+) was refused, and nothing of it was written")


class Victim(StrEnum):
    """What runs on the host."""

    EXECUTOR = "executor"
    DRIVER = "driver"
    MASTER = "master"
    BROKER = "broker"


class Way(StrEnum):
    """How it is lost: it ends; its cable is pulled; one direction of it breaks; it and the master lose each other."""

    KILLED = "killed"
    CUT = "cut"
    MUTE = "mute"
    DEAF = "deaf"
    BLIND = "blind"


@dataclass(frozen=True)
class Loss:
    """A host that is lost; `aim_seconds`: how long the stream may pause for it."""

    victim: Victim
    way: Way
    aim_seconds: float

    @property
    def name(self) -> str:
        """The loss for people."""
        return f"{self.victim}-{self.way}"


@dataclass(frozen=True)
class Seen:
    """What came of a loss. Pauses are the longest between two commits, in seconds; `starts`: when drivers took the
    version over, in seconds after the loss; `sent` records were acknowledged. `load`: how many processes shared a core
    of this machine meanwhile, 1 where none had to wait."""

    host: str
    away_pause: float
    back_pause: float
    load: float
    starts: Sequence[float]
    epochs: Sequence[int]
    refused: int
    sent: int

    def line(self, loss: Loss) -> str:
        """A row for people."""
        took = "taken over after " + ", ".join(f"{at:.0f} s" for at in self.starts) if self.starts else "not taken over"
        return (
            f"{loss.name} ({self.host}): pause {self.away_pause:.0f} s (aim {loss.aim_seconds:.0f}), "
            f"{self.back_pause:.0f} s after its return; {took}; {self.refused} batches refused; "
            f"{self.sent} records sent; load {self.load:.0f} a core"
        )


@dataclass(frozen=True)
class Watch:
    """A job of an installation, looked at from the client's host."""

    installed: Installed
    job: str

    def drivers_host(self) -> str:
        """The host that the newest driver runs on."""
        folders = [folder for host in WORKERS for folder in self._spark(host).glob("driver-*")]
        newest: Path = max(folders, key=lambda folder: folder.name)
        return newest.parent.name

    def leader(self) -> str:
        """The host of the master that leads."""
        return str(json.loads(self.installed.ask("leader")))

    def broker(self) -> str:
        """The host of the broker that leads most partitions."""
        return BROKERS[int(json.loads(self.installed.ask("leading_broker"))) - 1]

    def refused(self) -> int:
        """How many batches drivers say were refused, in all; a driver says it of a batch more than once."""
        said = (file for host in WORKERS for file in self._spark(host).glob("driver-*/std*"))
        return len({(file.parent, one) for file in said for one in REFUSED.findall(file.read_text(errors="replace"))})

    def executors(self) -> dict[str, list[psutil.Process]]:
        """By host the executors that run there."""
        lab = self.installed.lab
        return {host: [one for one in lab.processes(host) if EXECUTOR in one.info["cmdline"]] for host in WORKERS}

    def spread(self) -> None:
        """Have an executor on each host: Spark does not move one back to a host that was away. The one that is ended is
        started again where most cores are free."""
        assert until(lambda: json.loads(self.installed.ask("hosts")) == len(WORKERS), PATIENCE_SECONDS, 5.0), "not back"
        ended = 0.0

        def stands() -> bool:
            nonlocal ended
            found = self.executors()
            crowded = max(found.values(), key=len)
            if len(crowded) > 1 and time.monotonic() - ended > SPREAD_SECONDS:
                ended = time.monotonic()
                crowded[0].kill()
            return all(found.values())

        assert until(stands, PATIENCE_SECONDS, 5.0), f"an executor on each host: {self.executors()}"

    def commits(self, since: float) -> list[tuple[float, int]]:
        """Time and epoch of each commit since a time (seconds since 1970)."""
        return [(at, epoch) for at, epoch in json.loads(self.installed.ask("commits", self.job, str(since)))]

    def starts(self, since: float) -> list[float]:
        """When a driver took the version over, since a time."""
        return [float(at) for (at,) in json.loads(self.installed.ask("starts", self.job, str(since)))]

    def works(self, since: float) -> bool:
        """Whether it has committed since a time, and not long ago."""
        return bool(self.commits(max(since, time.time() - WORKS_SECONDS)))

    def unread(self) -> int:
        """How many records wait."""
        return int(json.loads(self.installed.ask("state", self.job))[0])

    def _spark(self, host: str) -> Path:
        return self.installed.lab.folder / "spark" / host


def lose(watch: Watch, loss: Loss, seed: int) -> Seen:
    """Lose a host under traffic, wait until the stream does its work without it and a while more, have it back, watch
    the stream again, and let it read the rest. Fails where it does not."""
    watch.spread()
    host, before = _host(watch, loss.victim), watch.refused()
    with traffic(watch.installed, seed) as sent:
        begun = time.time()
        assert until(lambda: watch.works(begun), PATIENCE_SECONDS, 2.0), "no commit under traffic"
        with away(watch, host, loss.way):
            lost = time.time()
            time.sleep(AWAY_SECONDS)
            assert until(lambda: watch.works(lost + AWAY_SECONDS / 2), PATIENCE_SECONDS, 5.0), "the stream stands still"
            load = max(1.0, os.getloadavg()[1] / (os.cpu_count() or 1))
        back = time.time()
        time.sleep(BACK_SECONDS)
        assert until(lambda: watch.works(back + BACK_SECONDS / 2), PATIENCE_SECONDS, 5.0), "it stands still again"
    assert until(lambda: watch.unread() == 0, PATIENCE_SECONDS, 2.0), "the log was not read"
    times, epochs = zip(*watch.commits(begun), strict=True)
    assert list(epochs) == sorted(epochs), f"an older driver committed after a newer one: {epochs}"
    return Seen(
        host, pause(times, lost, back), pause(times, back, back + BACK_SECONDS), load,
        [at - lost for at in watch.starts(lost)], sorted(set(epochs)), watch.refused() - before, sent(),
    )  # fmt: skip


def pause(commits: Sequence[float], begin: float, end: float) -> float:
    """The longest time without a commit that has a part between two moments."""
    found = (later - earlier for earlier, later in pairwise(commits) if later > begin and earlier < end)
    return max(found, default=float("inf"))


@contextmanager
def away(watch: Watch, host: str, way: Way) -> Iterator[None]:
    """A host that is lost while the body runs."""
    _strike(watch, host, way)
    try:
        yield
    finally:
        _mend(watch.installed, host, way)


def _host(watch: Watch, victim: Victim) -> str:
    if victim is Victim.MASTER:
        return watch.leader()
    if victim is Victim.BROKER:
        return watch.broker()
    drivers = watch.drivers_host()
    return drivers if victim is Victim.DRIVER else next(host for host in WORKERS if host != drivers)


def _strike(watch: Watch, host: str, way: Way) -> None:
    lab, master = watch.installed.lab, watch.leader()
    acts: dict[Way, Callable[[], None]] = {
        Way.KILLED: lambda: lab.kill(host),
        Way.CUT: lambda: lab.cut(host),
        Way.MUTE: lambda: lab.mute(host),
        Way.DEAF: lambda: lab.deafen(host),
        Way.BLIND: lambda: lab.lose_sight(host, master),
    }
    acts[way]()


def _mend(installed: Installed, host: str, way: Way) -> None:
    if way is Way.KILLED:
        installed.lab.boot(host)
    else:
        installed.lab.heal(host)
    # A master that cannot say any more that it leads ends: another one may lead by now.
    if not any("java" in process.name() for process in installed.lab.processes(host)):
        installed.start(host)


@contextmanager
def traffic(installed: Installed, seed: int, rate: int = 100) -> Iterator[Callable[[], int]]:
    """Traffic of so many records a second while the body runs; once that is over, how many it brought, all of which the
    log took."""
    stop, answer = installed.lab.folder / "stop", installed.lab.folder / "logs" / "traffic"
    stop.unlink(missing_ok=True)
    answer.unlink(missing_ok=True)
    playing, brought = installed.begin("traffic", str(seed), str(rate), str(stop)), list[int]()
    try:
        yield lambda: sum(brought)
    finally:
        stop.touch()
        playing.wait(PATIENCE_SECONDS)
    delivered, failed, seconds = json.loads(answer.read_text().splitlines()[-1])
    brought.append(delivered)
    assert failed == 0, f"{failed} records failed, {delivered} did not"
    print(f"{delivered} records in {seconds} s")
