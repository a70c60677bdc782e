"""The running stack that a bench looks at: its live versions, their progress and batches, and its commands."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from cli.entry import CHECKOUT
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal

_LIVE = """
select v.job, v.version, v.generation, v.desired from ops.segments s join ops.versions v using (job, version)
where s.to_window = 'infinity' order by v.job
"""


_LONGEST_GAP = """
select coalesce(max(extract(epoch from committed_at - before)), 0)::float8 from (
    select committed_at, lag(committed_at) over (order by committed_at) as before
    from ops.batches where job = %s and committed_at >= to_timestamp(%s / 1000.0) - interval '10 seconds') b
"""
_MARKS = "select marks from ops.changes where job = %s order by begun_at desc limit 1"


class NotUp(Refusal):
    """The stack does not answer."""

    def __init__(self, error: object) -> None:
        super().__init__(
            f"the stack does not answer ({error}). Bring it up with './kappa up', or name it in KAPPA_HOME."
        )


class NotLive(Refusal):
    """A job that the bench is about serves nothing."""

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__(f"no live version of {', '.join(missing)}: './kappa deploy {' '.join(missing)}' makes one.")


class CommandFailed(Refusal):
    """A command of `./kappa` that the bench needs did not succeed."""

    def __init__(self, arguments: Sequence[str], code: int, error: str) -> None:
        super().__init__(f"'./kappa {' '.join(arguments)}' ended with {code}: {error.strip()[-2000:]}")


@dataclass(frozen=True)
class Version:
    """A live version of a job; `desired` is running or stopped."""

    job: str
    version: int
    generation: int
    desired: str


class Database:
    """Questions to the operator's views, on one connection; `role` says as whom."""

    def __init__(self, settings: Settings, role: str = "kappa_operator") -> None:
        """Raises NotUp."""
        try:
            self._connection = psycopg.connect(settings.dsn(role), autocommit=True, connect_timeout=5)
        except psycopg.OperationalError as error:
            raise NotUp(str(error).strip().splitlines()[0]) from error

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """All rows of a statement."""
        return self._connection.execute(statement, values).fetchall()

    def now_ms(self) -> float:
        """The database's clock, epoch ms."""
        return float(self.rows("select extract(epoch from clock_timestamp()) * 1000")[0][0])

    def live(self) -> dict[str, Version]:
        """Job -> its live version."""
        return {row[0]: Version(*row) for row in self.rows(_LIVE)}

    def live_of(self, jobs: Sequence[str]) -> list[Version]:
        """The live versions of these jobs. Raises NotLive."""
        live = self.live()
        if missing := [job for job in jobs if job not in live]:
            raise NotLive(missing)
        return [live[job] for job in jobs]

    def next_offsets(self, version: Version) -> dict[int, int]:
        """Partition -> the next offset that the version has committed."""
        statement = 'select "partition", next_offset from ops.progress where job = %s and version = %s'
        return dict(self.rows(statement, version.job, version.version))

    def has_read(self, version: Version, ends: dict[int, int]) -> bool:
        """Whether the version has committed everything before `ends`."""
        offsets = self.next_offsets(version)
        return all(offsets.get(partition, 0) >= end for partition, end in ends.items())

    def longest_gap_s(self, job: str, since_ms: float) -> float:
        """The most seconds between two commits of a job in a row, from 10 s before then on."""
        ((gap,),) = self.rows(_LONGEST_GAP, job, since_ms)
        return float(gap)

    def newest_marks(self, job: str) -> dict[str, str] | None:
        """When each moment of the job's newest change was; None where it has never been changed."""
        found = self.rows(_MARKS, job)
        return found[0][0] if found else None

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


@dataclass(frozen=True)
class Said:
    """What a command of `./kappa` ended with: exit code, stdout and stderr."""

    exit_code: int
    out: str
    err: str


def kappa(settings: Settings, *arguments: str, accept: Sequence[int] = (0,), timeout: float = 1800) -> str:
    """Run a command of this checkout on the stack; returns its stdout. Raises CommandFailed."""
    said = ask(settings, *arguments, timeout=timeout)
    if said.exit_code not in accept:
        raise CommandFailed(arguments, said.exit_code, said.err)
    return said.out


def ask(settings: Settings, *arguments: str, timeout: float = 1800) -> Said:
    """Run a command of this checkout on the stack, whatever it ends with."""
    environment = {**os.environ, "KAPPA_HOME": str(settings.home)}
    done = subprocess.run(
        [str(CHECKOUT / "kappa"), *arguments],
        cwd=CHECKOUT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
    )
    return Said(done.returncode, done.stdout, done.stderr)


def differences(settings: Settings, *jobs: str) -> int:
    """How many differences `reconcile` finds, of these jobs or of all, once they have read everything."""
    only = [word for job in jobs for word in ("--job", job)]
    said = kappa(settings, "reconcile", "--json", "--wait", "600", *only, accept=(0, 1))
    return int(json.loads(said)["difference_count"])
