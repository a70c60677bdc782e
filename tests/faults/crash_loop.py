"""An artifact that keeps dying, deployed over the running job under load: what becomes of the live numbers, by minute.

Command: python -m tests.faults.crash_loop --fault start|take_over|batches|record [--rate 500] [--minutes 15] [--json]

The code is edited in a copy (tests/rigs/faults.py) and built there. `start` dies on the trial's copy of the checkpoint,
`take_over` after the trial, at the driver's start; `batches` dies after some batches of each start, and `record` at
an event that is sent once the new code runs. The last two are followed until the version is FAILED and red; then the
old artifact is deployed again. Ends with a reconciliation; exit 1 at any difference.
"""

from __future__ import annotations

import secrets
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from typing import Annotated, Any

import typer

from bench import report
from bench.live import Database, Said, ask, differences
from bench.load import Background, now_ms
from bench.replays import sentence
from cli.entry import settings
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings
from tests.faults.minutes import Sample, by_minute
from tests.rigs import patches
from tests.rigs.faults import PATCHES, POISON, Fault
from traffic.log import KafkaLog
from traffic.play import SystemClock, play
from traffic.records import Event, Kind, Record, encode

JOB = "ad_ctr"
REASON = "tests.faults.crash_loop"
LONGEST_HOURS = 1
EVERY_SECONDS = 5.0
LAG_SECONDS = 10.0
_SAMPLE = """
select v.state, v.desired, left(v.artifact, 8), extract(epoch from clock_timestamp() - d.beat_at)::float8, d.epoch,
    d.lag_events, d.lag_seconds::float8,
    (select max(window_start) from serving.ad_ctr_minute where client_id not like 'probe-%%'),
    (select counted from ops.accounting a where (a.job, a.version) = (v.job, v.version)),
    array(select r.what from ops.red_lines r where (r.job, r.version) = (v.job, v.version) order by 1),
    (select count(*) from ops.audit u where u.job = v.job and u.action = 'repair.restarted')
from ops.versions v left join ops.drivers d using (job, version) where v.job = %s and v.version = %s
"""


def main(
    fault: Annotated[Fault, typer.Option(help="When the code dies.")] = Fault.RECORD,
    rate: Annotated[float, typer.Option(min=1, help="Records per second meanwhile.")] = 500.0,
    minutes: Annotated[float, typer.Option(min=1, help="At most so long after the deployment began.")] = 15.0,
    quiet: Annotated[float, typer.Option(min=0, help="Seconds of a look before, and after all is well again.")] = 60.0,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the traffic; random if absent.")] = None,
    as_json: report.Json = False,
) -> None:
    """Deploy code that dies, follow it to its end, mend, and reconcile."""
    stack = settings()
    database, seed = Database(stack), secrets.randbelow(2**31) if seed is None else seed
    report.say(f"seed {seed}")
    (live,) = database.live_of([JOB])
    ((old,),) = database.rows("select artifact from ops.versions where (job, version) = (%s, %s)", JOB, live.version)
    new = patches.build(stack, PATCHES[fault])
    watch = Watch(database, live.version)
    with Background(stack, seed, rate, LONGEST_HOURS * 3600):
        said, mended = through(stack, watch, fault, (old, new), 60 * minutes, quiet)
    found = {
        "seed": seed, "fault": fault.value, "does": PATCHES[fault].what, "old": old[:8], "new": new[:8], "rate": rate,
        "deployment": said, "mended": mended, "events": watch.events,
        "minutes": [asdict(minute) for minute in by_minute(watch.samples)],
        "differences": differences(stack),
    }  # fmt: skip
    report.document(found) if as_json else _tell(found)
    if found["differences"]:
        raise typer.Exit(1)


def through(
    stack: Settings, watch: Watch, fault: Fault, artifacts: tuple[str, str], seconds: float, quiet: float
) -> tuple[str, str | None]:
    """A quiet while, the deployment of the new artifact and what comes of it, the old one again where it must be, and
    a quiet while; what both deployments said."""
    old, new = artifacts
    watch.follow(lambda _: False, quiet)
    said = watch.beside(stack, "deploy", JOB, "--artifact", new)
    if not said.exit_code:
        if fault is Fault.RECORD:
            send_poison(stack)
        watch.follow(has_given_up, seconds)
    mended = None
    if watch.samples[-1].artifact != old[:8] or has_given_up(watch.samples[-1]):
        mended = sentence(watch.beside(stack, "deploy", JOB, "--artifact", old))
    watch.follow(is_well, seconds)
    watch.follow(lambda _: False, quiet)
    return sentence(said), mended


def has_given_up(sample: Sample) -> bool:
    """Whether the version is FAILED, and red."""
    return sample.state == "FAILED" and "failed" in sample.red


def is_well(sample: Sample) -> bool:
    """Whether the job does its work: it beats, nothing is red, and it is close to the end of the log."""
    beats = sample.beat_s is not None and sample.beat_s < LAG_SECONDS
    return beats and not sample.red and (sample.lag_s or 0.0) < LAG_SECONDS


def send_poison(stack: Settings) -> None:
    """One impression of the client at which the driver dies."""
    event = Event(str(uuid.uuid4()), "impression", "s", POISON, "a", "u", now_ms(), 1)
    record = Record(b"u", encode(event), 0.0, Kind.AS_IS)
    play(
        [record], KafkaLog(stack.kafka_access(KafkaUser.PRODUCER).librdkafka(), stack.topic.name), SystemClock(), False
    )
    report.say(f"sent an event of client {POISON}")


class Watch:
    """Looks at the version every few seconds; `samples` and `events` grow, both by seconds since the first look."""

    def __init__(self, database: Database, version: int) -> None:
        self._database, self._version, self._begun = database, version, time.monotonic()
        self.samples: list[Sample] = []
        self.events: list[str] = []

    def look(self) -> Sample:
        """The version as it is now; what changed is an event."""
        (row,) = self._database.rows(_SAMPLE, JOB, self._version)
        sample = Sample(round(time.monotonic() - self._begun, 1), *row)
        before = self.samples[-1] if self.samples else sample
        for name in ("state", "artifact", "epoch", "red", "repairs"):
            if getattr(before, name) != getattr(sample, name):
                self.note(f"{name}: {getattr(before, name)} -> {getattr(sample, name)}")
        self.samples.append(sample)
        return sample

    def note(self, words: str) -> None:
        """Keep and say an event."""
        self.events.append(f"{time.monotonic() - self._begun:.0f} s: {words}")
        report.say(self.events[-1])

    def follow(self, until: Callable[[Sample], bool], seconds: float) -> None:
        """Look until something holds of a sample, at most for so long."""
        deadline = time.monotonic() + seconds
        while not until(self.look()) and time.monotonic() < deadline:
            time.sleep(EVERY_SECONDS)

    def beside(self, stack: Settings, *arguments: str) -> Said:
        """Run a command of `./kappa` to its end, looking meanwhile."""
        self.note("./kappa " + " ".join(arguments))
        with ThreadPoolExecutor(1) as pool:
            command: Future[Said] = pool.submit(ask, stack, *arguments, "--reason", REASON, "--json")
            while not command.done():
                self.look()
                time.sleep(EVERY_SECONDS)
        said = command.result()
        self.note(f"exit {said.exit_code}: {sentence(said)}")
        return said


def _tell(found: dict[str, Any]) -> None:
    columns = (
        "minute", "state", "artifact", "beat, at most s", "starts", "repairs", "unread", "lag s", "newest minute",
        "counted", "red",
    )  # fmt: skip
    title = f"{found['fault']} ({found['does']}), {found['old']} -> {found['new']}, {found['rate']:g} records/s"
    report.table(f"{title}, seed {found['seed']}", columns, [tuple(minute.values()) for minute in found["minutes"]])
    for line in (*found["events"], f"{found['differences']} differences"):
        report.say(line)


if __name__ == "__main__":
    report.run(main)
