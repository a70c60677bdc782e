"""What an Airflow and its workers must have for our DAGs to run, and what is wrong where they have not."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kappa.core.installation.findings import Finding

ROLES = ("kappa_registry", "kappa_owner")
"""The roles of Postgres that Airflow's tasks act as."""


@dataclass(frozen=True)
class Pool:
    """A pool of Airflow. A task in a pool that does not exist is never started, and nothing fails."""

    name: str
    slots: int
    include_deferred: bool
    description: str

    @property
    def command(self) -> str:
        """Makes it, or sets it right."""
        flag = ["--include-deferred"] if self.include_deferred else []
        return shlex.join(["airflow", "pools", "set", *flag, self.name, str(self.slots), self.description])


REPLAY_POOL = Pool("replay", 1, True, "One version at a time catches up")
FINITE_CORES = 2
"""Cores of one finite Spark program, which runs in the task's own process."""
SPARK_POOL = Pool("spark_cores", FINITE_CORES, False, "Cores that finite Spark work takes")
POOLS = (REPLAY_POOL, SPARK_POOL)
SPARK_CONNECTION = "spark_local"
CONNECTIONS = {
    SPARK_CONNECTION: (
        "finite Spark work would go to YARN, which is the provider's default",
        f"airflow connections add {SPARK_CONNECTION} --conn-type spark --conn-host 'local[{FINITE_CORES}]' "
        """--conn-extra '{"deploy-mode": "client", "spark-binary": "spark-submit"}'""",
    )
}
"""By connection, what happens without it and the command that makes it."""
NOTES_CONNECTION = "kappa_airflow"
NOTES_REMEDY = (
    f"airflow connections add {NOTES_CONNECTION} --conn-type http --conn-host HOST --conn-login USER --conn-password "
    "PASSWORD, of a user with the role operator"
)


@dataclass(frozen=True)
class Held:
    """A pool as Airflow has it; -1 slots are as many as are asked for."""

    slots: int
    include_deferred: bool


@dataclass(frozen=True)
class Seen:
    """What was found of an Airflow and one of its workers.

    `pools`: None where they could not be looked at, and then `pools_hidden` says why. `connections`: which of
    CONNECTIONS there are, None where that cannot be known. `notes`, and by name `roles` and `folders`: what went wrong
    with each, empty where nothing did; `notes` is None where there is no such connection. `store`: what is wrong with
    it.
    """

    pools: Mapping[str, Held] | None = None
    pools_hidden: str = ""
    connections: frozenset[str] | None = None
    notes: str | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)
    store: Sequence[Finding] = ()


def lacking(seen: Seen, embedded: bool) -> Iterator[Finding]:
    """What is wrong, each with the command that mends it; on the embedded stack that is `./kappa up`."""
    for pool in POOLS if seen.pools is not None else ():
        if wrong := pool_problem(pool, (seen.pools or {}).get(pool.name)):
            yield Finding(f"pool {pool.name}", wrong, "./kappa up" if embedded else pool.command)
    for name, (without, command) in CONNECTIONS.items():
        if seen.connections is not None and name not in seen.connections:
            wrong = f"Airflow has no connection of this name: {without}"
            yield Finding(f"connection {name}", wrong, "./kappa up" if embedded else command)
    if seen.notes:
        remedy = "./kappa up" if embedded else f"airflow connections delete {NOTES_CONNECTION}; {NOTES_REMEDY}"
        yield Finding(f"connection {NOTES_CONNECTION}", seen.notes, remedy)
    for role, wrong in seen.roles.items():
        if wrong:
            remedy = "./kappa up" if embedded else f"./kappa doctor, on a worker of Airflow: it tries {role} at length"
            yield Finding(f"role {role}", wrong, remedy)
    for folder, wrong in seen.folders.items():
        if wrong:
            remedy = f"mkdir -p {shlex.quote(folder)}, mount it and let Airflow's user write there, or correct "
            yield Finding(f"folder {folder}", wrong, f"{remedy}places.shared in the settings")
    yield from seen.store


def pool_problem(pool: Pool, held: Held | None) -> str | None:
    """What is wrong with a pool."""
    if held is None:
        return "Airflow has no pool of this name: tasks in it are never started, and none of them fails"
    if 0 <= held.slots < pool.slots:
        return f"it has {held.slots} slots and needs {pool.slots}: tasks that take more are never started"
    if pool.include_deferred and not held.include_deferred:
        return "it does not count deferred tasks: versions would catch up several at a time"
    return None


def not_looked_at(seen: Seen) -> list[str]:
    """What nobody looked at, and why; for people."""
    hidden = [f"pools ({seen.pools_hidden})"] if seen.pools is None else []
    if seen.notes is None:
        hidden.append(f"notes of runs, which are left out without a connection {NOTES_CONNECTION} ({NOTES_REMEDY})")
    return hidden
