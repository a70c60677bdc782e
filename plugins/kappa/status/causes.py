"""The closed list of what can be wrong: what each means for readers, where the runbook has it, what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

STAYS = "What is served stays right and grows old"


class Cause(StrEnum):
    """Why somebody is told. Each red line of the contract, section 8, has the name of its cause."""

    DOWN = "down"
    SUPERVISOR = "supervisor"
    POSTGRES = "postgres"
    KAFKA = "kafka"
    REGISTRY = "registry"
    SPARK = "spark"
    AIRFLOW = "airflow"
    DISK = "disk"
    CLOCK = "clock"
    SILENT = "silent"
    STALLED = "stalled"
    HELD = "held"
    FAILED = "failed"
    PROOF = "proof"
    QUERY = "query"
    COMMIT = "commit"
    TOPIC = "topic"
    WATCHER = "watcher"
    FUTURE = "future"
    LATE = "late"
    DEAD_LETTER = "dead_letter"
    RETENTION = "retention"
    CONSERVATION = "conservation"
    VALIDATION = "validation"
    BACKLOG = "backlog"
    APPROVAL = "approval"


@dataclass(frozen=True)
class Meaning:
    """What one cause means: `title` names it in a few words, `readers` is about those who read numbers, `runbook` the
    heading of its entry, `next` a command, with `{job}` for the first one that is concerned, or those that are replayed
    together. `elsewhere` is the command of an installation whose parts `./kappa up` does not start, if it is another
    one.

    What is not `urgent` may wait until a quiet span has ended.
    """

    title: str
    readers: str
    runbook: str
    next: str
    urgent: bool = True
    elsewhere: str | None = None

    def next_command(self, job: str, embedded: bool) -> str:
        """What to type first; `job` is the first one that is concerned, if any is, or all of a replay."""
        return (self.next if embedded else self.elsewhere or self.next).format(job=job)


MEANINGS: dict[Cause, Meaning] = {
    Cause.DOWN: Meaning(
        "the stack is down",
        "Numbers can be read only if Postgres still runs, and grow old; what producers send is lost unless they keep "
        "it.", "the stack is down", "./kappa up",
    ),
    Cause.SUPERVISOR: Meaning(
        "the supervisor does not answer",
        "None: what runs goes on. But a part that ends is not started again, and nobody knows what runs.",
        "supervisor does not answer: ...", "./kappa status",
    ),
    Cause.POSTGRES: Meaning(
        "Postgres is away",
        "Nobody can read any number. Nothing is lost: what comes is in the log, and is counted afterwards.",
        "postgres does not answer: ...", "./kappa up", elsewhere="./kappa doctor",
    ),
    Cause.KAFKA: Meaning(
        "the broker is away",
        f"{STAYS}. Producers cannot append: what they do not keep themselves is lost.",
        "kafka does not answer: ...", "./kappa up", elsewhere="./kappa doctor",
    ),
    Cause.REGISTRY: Meaning(
        "the registry is missing", "What the database has not, nobody can read.",
        "postgres has no registry, or an older one: ...", "./kappa up", elsewhere="./kappa db migrate",
    ),
    Cause.SPARK: Meaning(
        "a part of Spark does not run",
        f"{STAYS} where a driver has gone with it; drivers that run go on.", "process NAME is STATE", "./kappa up",
    ),
    Cause.AIRFLOW: Meaning(
        "a part of Airflow does not run",
        "None: streams run on. No job can be deployed, replayed or approved, and nothing repairs itself.",
        "process NAME is STATE", "./kappa up",
    ),
    Cause.DISK: Meaning(
        "the disk is nearly full", "None yet. Once it is full nothing is committed any more.",
        "Not red, but worth a look", "./kappa status",
    ),
    Cause.CLOCK: Meaning(
        "clocks differ", "None yet. From a minute on windows may be called final that are not.",
        "The clocks of database, broker and monitor differ", "./kappa doctor",
    ),
    Cause.SILENT: Meaning(
        "no driver reports", f"{STAYS}.", "JOB vN silent: wanted running, but no heartbeat for 30 s",
        "./kappa repair {job} --dry-run",
    ),
    Cause.STALLED: Meaning(
        "nothing is committed", f"{STAYS}.",
        "JOB vN stalled: wanted running, records wait, and nothing was committed for 2 min",
        "./kappa status --job {job}",
    ),
    Cause.HELD: Meaning(
        "a change has not come to its end", f"{STAYS}.",
        "JOB vN held: wanted running, but held by a VERB, run RUN, and no heartbeat for 2 min",
        "./kappa status --job {job}",
    ),
    Cause.FAILED: Meaning(
        "a version gave up", f"{STAYS}, until somebody starts it again.", "JOB vN failed: ...",
        "./kappa audit --job {job}",
    ),
    Cause.PROOF: Meaning(
        "live does not equal its replay",
        "Numbers that are served may be wrong. Bill nothing from them until this is understood.",
        "JOB vN failed: live vM does not equal its replay: ...", "./kappa reconcile",
    ),
    Cause.QUERY: Meaning(
        "a query fails again and again", f"{STAYS}.",
        "JOB vN query: the query ended N times in a row without a commit: ...", "./kappa status --job {job}",
    ),
    Cause.COMMIT: Meaning(
        "a batch is not committed", f"{STAYS}.", "JOB vN commit: ...", "./kappa status --job {job}",
    ),
    Cause.TOPIC: Meaning(
        "the topic is not what it was",
        "What is appended from now on is not counted, or a part of it. What is served stays.",
        "JOB vN topic: topic ... was deleted and made again; this version reads the old one", "./kappa doctor",
    ),
    Cause.WATCHER: Meaning(
        "the lag cannot be told", "Numbers go on; nothing becomes final.",
        "JOB vN watcher: ...; lag is not told", "./kappa status --job {job}",
    ),
    Cause.FUTURE: Meaning(
        "many records are refused as too far ahead",
        "They are counted nowhere: numbers are too low. A clock is wrong, most likely.",
        "JOB vN future: N of the M records of the last 5 min are refused as too far ahead of the broker's clock",
        "./kappa status --job {job}",
    ),
    Cause.LATE: Meaning(
        "many records are refused as late",
        "They are counted nowhere: numbers are too low. The broker's clock is fast, or a producer sends what is old.",
        "JOB vN late: N of the M records of the last 5 min came later than the allowed lateness",
        "./kappa status --job {job}",
    ),
    Cause.DEAD_LETTER: Meaning(
        "many records cannot be read",
        "They are counted nowhere: numbers are too low. A producer writes something else than before, most likely.",
        "JOB vN dead_letter: N of the M records of the last 5 min cannot be read", "./kappa status --job {job}",
    ),
    Cause.RETENTION: Meaning(
        "the log is about to drop what was not read",
        "None yet. Records that are dropped unread are in no number, ever.",
        "JOB vN retention: in N h the log drops what it has not read; ...", "./kappa status --job {job}",
    ),
    Cause.CONSERVATION: Meaning(
        "the books do not add up", "Numbers that are served may be wrong. Bill nothing from them until then.",
        "JOB vN conservation: N records without a fate", "./kappa reconcile",
    ),
    Cause.VALIDATION: Meaning(
        "what is served does not pass its validation",
        "Numbers that are served may be wrong. Bill nothing from them until this is understood.",
        "JOB vN validation: ...", "./kappa reconcile",
    ),
    Cause.BACKLOG: Meaning(
        "the backlog grows", "What is served stays right, and is older from minute to minute.",
        "The backlog grows for 10 minutes", "./kappa rescale {job} --advised --dry-run",
    ),
    Cause.APPROVAL: Meaning(
        "a replay waits for an answer",
        "None: the live versions serve on. Without an answer nothing is promoted after 12 hours.",
        "A replay waits for an answer", "./kappa promote {job} --as approver --reason TEXT", urgent=False,
        elsewhere="./kappa promote {job} --reason TEXT",
    ),
}  # fmt: skip


def readers(cause: Cause, serves: bool) -> str:
    """What a cause means for those who read numbers; where it is about versions of which none serves, nothing. A proof
    that failed is told of the version that it made, and means the live one."""
    return MEANINGS[cause].readers if serves or cause is Cause.PROOF else "None: nobody reads numbers of it."


READ_FROM_REGISTRY = frozenset(Cause) - {
    Cause.DOWN, Cause.SUPERVISOR, Cause.POSTGRES, Cause.KAFKA, Cause.SPARK, Cause.AIRFLOW, Cause.DISK,
}  # fmt: skip
"""What nobody knows while the registry cannot be read: neither that it is there nor that it is over."""
READ_FROM_SUPERVISOR = frozenset({Cause.SUPERVISOR, Cause.SPARK, Cause.AIRFLOW})
"""The same while the supervisor does not answer, or has gone: the stack is down."""

PARTS = frozenset({Cause.DOWN, Cause.POSTGRES, Cause.KAFKA, Cause.REGISTRY, Cause.SPARK})
STANDS_STILL = (Cause.QUERY, Cause.COMMIT, Cause.SILENT, Cause.STALLED, Cause.BACKLOG)
"""Of one stream these come of each other, so that they are one incident: it has the name of the first that is there."""
SYMPTOMS = frozenset({*STANDS_STILL, Cause.HELD, Cause.WATCHER})
"""What a part that is away brings about: of these nobody is told beside it, only if they stay once it is back."""


_PROOF = "does not equal its replay"
"""What the reason says of a version that gave up since a proof found a difference (`_refute` in the verb replay)."""


def of_registry(line: str, what: str) -> Cause:
    """The cause of a red line that the registry knows, by its name and its words."""
    return Cause.PROOF if line == Cause.FAILED and _PROOF in what else Cause(line)


def kind(cause: Cause) -> str:
    """What is the same for causes that are one incident."""
    return "stands still" if cause in STANDS_STILL else cause.value
