"""`doctor` on an installation that is broken in one place after the other: what it says of each, and nothing else."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from kappa.airflow_api import Airflow
from kappa.airflow_sign_in import embedded
from kappa.core.installation.kafka_access import USERNAME, KafkaUser
from kappa.core.installation.needs import REPLAY_POOL
from kappa.core.installation.settings import Settings
from stack.services import airflow_pools, kafka
from tests.integration.injected import away, changed
from tests.rigs.meddling import retention
from tests.rigs.running_stack import Stack

pytestmark = [pytest.mark.integration, pytest.mark.long(minutes=1)]
Break = Callable[[Stack], AbstractContextManager[None]]
HOUR_MS = 3_600_000
REVISION = "update public.alembic_version set version_num = lpad((version_num::int {} 1)::text, 4, '0')"


def _file(of: Callable[[Settings], Path], change: Callable[[Path], object]) -> Break:
    """A file of the installation that is changed; it is put back as it was."""

    @contextmanager
    def broken(stack: Stack) -> Iterator[None]:
        file = of(stack.settings)
        held, mode = file.read_bytes(), file.stat().st_mode
        change(file)
        try:
            yield
        finally:
            file.write_bytes(held)
            file.chmod(mode)

    return broken


def _database(breaks: str, mends: str) -> Break:
    return partial(changed, statement=breaks, back=mends)


def _short_retention(stack: Stack) -> AbstractContextManager[None]:
    return retention(stack.settings, HOUR_MS, stack.settings.topic.retention_hours * HOUR_MS)


@contextmanager
def _no_right_to_write(stack: Stack) -> Iterator[None]:
    """The producer's ACL is taken away."""
    admin, topic = _admin(stack), stack.settings.topic.name
    producer = f"User:{stack.settings.kafka_access(KafkaUser.PRODUCER).librdkafka()[USERNAME]}"
    which = AclBindingFilter(
        ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, producer, None, AclOperation.WRITE,
        AclPermissionType.ALLOW,
    )  # fmt: skip
    (asked,) = admin.delete_acls([which]).values()
    taken = asked.result()
    assert taken, "there was no such right"
    try:
        yield
    finally:
        for done in admin.create_acls(list(taken)).values():
            done.result()


@contextmanager
def _broker_down(stack: Stack) -> Iterator[None]:
    with away(stack, kafka.NAME, signal.SIGTERM):
        yield


@contextmanager
def _no_pool(stack: Stack) -> Iterator[None]:
    airflow = Airflow(embedded(stack.settings, airflow_pools.KEEPER))
    deleted = {"action": "delete", "entities": [REPLAY_POOL.name]}
    airflow.ask("to delete a pool", "PATCH", "/api/v2/pools", {"actions": [deleted]})
    try:
        yield
    finally:
        stack.kappa("up")


def _admin(stack: Stack) -> AdminClient:
    return AdminClient(stack.settings.kafka_access(KafkaUser.ADMIN).librdkafka())


def _other_key(file: Path) -> None:
    key = bytearray(file.read_bytes())
    key[0] = ord("A") if key[0] != ord("A") else ord("B")
    file.write_bytes(key)


def _settings_file(settings: Settings) -> Path:
    return settings.home.parent / "kappa.toml"


def _other_partitions(file: Path) -> None:
    file.write_text(file.read_text() + "[topic]\npartitions = 5\n")


BROKEN: dict[str, tuple[Break, dict[str, str]]] = {
    "a secret is missing": (
        _file(lambda settings: settings.passfile("kappa_operator"), Path.unlink),
        {"secret kappa_operator.pgpass": "does not exist", "role kappa_operator": "no password supplied"},
    ),
    "others may read a secret": (
        _file(lambda settings: settings.spark_key, lambda file: file.chmod(0o644)),
        {"secret": "has mode 0644: others may read it"},
    ),
    "another key of Spark": (
        _file(lambda settings: settings.spark_key, _other_key),
        {"requests with our key": "it was started with another key", "workers": "it was started with another key"},
    ),
    "a right in the database is missing": (
        _database("revoke insert on registry.audit from kappa_registry",
                  "grant insert on registry.audit to kappa_registry"),
        {"role kappa_registry": "kappa_registry may not INSERT registry.audit"},
    ),
    "a role may do anything": (
        _database("alter role kappa_reader superuser", "alter role kappa_reader nosuperuser"),
        {"role kappa_reader": "is a superuser"},
    ),
    "a schema that is behind": (
        _database(REVISION.format("-"), REVISION.format("+")),
        {"schema": ", and lacks 0"},
    ),
    "a topic that forgets too soon": (
        _short_retention,
        {"topic": "it keeps records for 1 h, and the settings say"},
    ),
    "a topic of another size": (
        _file(_settings_file, _other_partitions),
        {"topic": "partitions, and the settings say 5"},
    ),
    "a user without a right": (
        _no_right_to_write,
        {"user kafka_producer": "may not WRITE"},
    ),
    "a pool is missing": (
        _no_pool,
        {"pools": "pool replay", "what tasks see": "pool replay"},
    ),
    "the broker is down": (
        _broker_down,
        {"user": "", "topic": "does not answer"},
    ),
}  # fmt: skip


def _wrong(stack: Stack) -> dict[str, dict[str, Any]]:
    """What `doctor` finds wrong, by what it tried."""
    told = stack.kappa("doctor", "--json", expect=None)
    found = {one["tried"]: one for one in json.loads(told.out) if not one["ok"]}
    assert told.exit_code == bool(found)
    return found


def test_of_an_installation_that_is_whole_nothing_is_said(live: Stack) -> None:
    assert _wrong(live) == {}


@pytest.mark.parametrize("which", BROKEN)
def test_what_is_broken_is_named_with_its_remedy_and_nothing_else_is(live: Stack, which: str) -> None:
    broken, expected = BROKEN[which]
    with broken(live):
        found = _wrong(live)
    for tried, said in found.items():
        print(f"\n{which}: {said['part']}, {tried}: {said['wrong']} -> {said['remedy']}")
    for begins, words in expected.items():
        named = [said for tried, said in found.items() if tried.startswith(begins)]
        assert any(words in said["wrong"] for said in named), (begins, found)
        assert all(said["remedy"] or "./kappa" in said["wrong"] for said in named), named
    assert all(any(tried.startswith(begins) for begins in expected) for tried in found), found
