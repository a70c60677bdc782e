"""What an Airflow lacks: each thing by its name, what comes of it, and the command that mends it."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from kappa.core.installation.findings import Finding
from kappa.core.installation.needs import CONNECTIONS, POOLS, ROLES, Held, Seen, lacking, not_looked_at

WELL = Seen(
    pools={"replay": Held(1, True), "spark_cores": Held(8, False), "default_pool": Held(128, False)},
    connections=frozenset(CONNECTIONS),
    notes="",
    roles=dict.fromkeys(ROLES, ""),
    folders={"/shared": ""},
)


def found(seen: Seen, embedded: bool = False) -> list[Finding]:
    return list(lacking(seen, embedded))


def test_where_nothing_is_missing_nothing_is_wrong() -> None:
    assert found(WELL) == []
    assert not_looked_at(WELL) == []


@pytest.mark.parametrize(
    ("seen", "part", "wrong", "remedy"),
    [
        (
            replace(WELL, pools={"spark_cores": Held(2, False)}),
            "pool replay",
            "no pool of this name: tasks in it are never started",
            "airflow pools set --include-deferred replay 1 'One version at a time catches up'",
        ),
        (
            replace(WELL, pools={"replay": Held(1, False), "spark_cores": Held(2, False)}),
            "pool replay",
            "does not count deferred tasks",
            "airflow pools set --include-deferred replay 1 'One version at a time catches up'",
        ),
        (
            replace(WELL, pools={"replay": Held(1, True), "spark_cores": Held(1, False)}),
            "pool spark_cores",
            "has 1 slots and needs 2",
            "airflow pools set spark_cores 2 'Cores that finite Spark work takes'",
        ),
        (
            replace(WELL, connections=frozenset()),
            "connection spark_local",
            "would go to YARN",
            "airflow connections add spark_local --conn-type spark --conn-host 'local[2]' --conn-extra",
        ),
        (
            replace(WELL, notes="Airflow refused the note (403): Forbidden"),
            "connection kappa_airflow",
            "(403): Forbidden",
            "of a user with the role operator",
        ),
        (
            replace(WELL, roles={"kappa_registry": "password authentication failed", "kappa_owner": ""}),
            "role kappa_registry",
            "password authentication failed",
            "./kappa doctor, on a worker of Airflow",
        ),
        (
            replace(WELL, folders={"/a place": "there is no such folder on this worker"}),
            "folder /a place",
            "no such folder",
            "mkdir -p '/a place'",
        ),
        (
            replace(WELL, store=[Finding("put in s3a://b", "403", "give the role the right to write there")]),
            "put in s3a://b",
            "403",
            "the right to write",
        ),
    ],
)
def test_each_thing_is_named_with_what_comes_of_it_and_its_remedy(
    seen: Seen, part: str, wrong: str, remedy: str
) -> None:
    [one] = found(seen)
    assert one.part == part
    assert wrong in one.wrong
    assert remedy in one.remedy


def test_on_the_embedded_stack_up_makes_them() -> None:
    seen = replace(WELL, pools={}, connections=frozenset(), roles={"kappa_owner": "refused"}, notes="refused")
    assert [(one.part, one.remedy) for one in found(seen, embedded=True)] == [
        (part, "./kappa up")
        for part in ("pool replay", "pool spark_cores", "connection spark_local", "connection kappa_airflow",
                     "role kappa_owner")
    ]  # fmt: skip


def test_as_many_slots_as_are_asked_for_are_enough() -> None:
    assert found(replace(WELL, pools={"replay": Held(1, True), "spark_cores": Held(-1, False)})) == []


def test_what_could_not_be_looked_at_is_no_finding_and_is_told() -> None:
    hidden = replace(WELL, pools=None, pools_hidden="Airflow refused to show its pools (403)", notes=None)
    assert found(hidden) == []
    pools, notes = not_looked_at(hidden)
    assert pools == "pools (Airflow refused to show its pools (403))"
    assert notes.startswith("notes of runs, which are left out without a connection kappa_airflow (airflow connections")


def test_a_command_names_its_pool_with_its_slots() -> None:
    for pool in POOLS:
        words = shlex.split(pool.command)
        assert words[:3] == ["airflow", "pools", "set"]
        assert words[-3:] == [pool.name, str(pool.slots), pool.description]
