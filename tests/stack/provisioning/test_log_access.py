"""`targets/local` on a real broker: what is applied holds, what is changed by hand is found and mended, and who may do
what is tried by a client."""

from __future__ import annotations

import secrets
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from confluent_kafka.admin import AclOperation as Operation

from cli.doctor import topic_shape
from cli.doctor.trial import Trial, Wrong
from kappa.core.installation.kafka_access import PASSWORD, RIGHTS, KafkaUser
from stack.provisioning import log_access
from stack.provisioning.terraform import Target, TerraformFailed
from stack.services import kafka, kafka_users, passwords
from tests.rigs.small_stack import small_stack
from tests.stack.provisioning import terraform_tree
from tests.stack.provisioning.broker_by_hand import BrokerByHand
from tests.stack.provisioning.log_actions import empties_the_log, makes_a_topic, reads, reads_in_a_group, writes
from tests.stack.provisioning.terraform_tree import timed

pytestmark = [pytest.mark.provisioning, pytest.mark.rig]


@pytest.fixture(scope="module")
def broker() -> Iterator[BrokerByHand]:
    if why := terraform_tree.lacking():
        pytest.skip(why)
    with small_stack(partitions=2) as layout:
        made = BrokerByHand(layout)
        made.strip()
        yield made


@pytest.fixture(scope="module")
def applied(broker: BrokerByHand) -> Target:
    """The target, applied to a broker that has none of it."""
    target = log_access.target(broker.layout, print)
    with timed("init and apply from nothing"):
        log_access.apply(target, broker.settings)
    return target


def test_what_is_applied_is_what_the_stack_makes_by_itself(broker: BrokerByHand, applied: Target) -> None:
    with timed("plan"):
        assert not applied.changes()
    ours = {
        (acl.principal, acl.resource_pattern.resource_type.name, acl.resource_pattern.resource_name, acl.operation.name)
        for acl in kafka_users.rights(broker.topic)
    }
    assert broker.rights() == ours
    assert broker.configured() == kafka.configuration(broker.settings.topic)
    assert applied.outputs() == {"topic": broker.topic, "users": sorted(map(str, RIGHTS))}


DRIFT: dict[str, Callable[[BrokerByHand], object]] = {
    "retention": lambda broker: broker.configure(retention_ms="3600000"),
    "stamping": lambda broker: broker.configure(message_timestamp_type="CreateTime"),
    "foreign setting of the topic": lambda broker: broker.configure(max_message_bytes="2000000"),
    "right taken away": lambda broker: broker.forbid(KafkaUser.STREAM, Operation.READ),
    "quota taken away": lambda broker: broker.limit(None),
    "quota changed": lambda broker: broker.limit(5_000_000),
    "user deleted": lambda broker: broker.forget(KafkaUser.CONTROL),
}


SHORT = ("retention", "right taken away")
"""In the suite, for all of them: one of the topic, one of who may do what."""


@pytest.mark.parametrize(
    "what", [what if what in SHORT else pytest.param(what, marks=pytest.mark.long(minutes=0.4)) for what in DRIFT]
)
def test_what_somebody_changed_is_found_and_mended(broker: BrokerByHand, applied: Target, what: str) -> None:
    DRIFT[what](broker)
    with timed(f"{what}: plan"):
        assert applied.changes(), f"{what} was not seen"
    with timed(f"{what}: apply"):
        applied.apply()
    assert not applied.changes()


@pytest.mark.long(minutes=0.4)
def test_a_right_that_somebody_added_is_found_by_doctor_since_terraform_knows_its_own_only(
    broker: BrokerByHand, applied: Target
) -> None:
    broker.allow(KafkaUser.READER, Operation.WRITE)
    try:
        assert not applied.changes()
        with pytest.raises(Wrong, match="kafka_reader may WRITE topic ad_events, which it has no need of"):
            trial_of(broker, KafkaUser.READER).act()
    finally:
        broker.forbid(KafkaUser.READER, Operation.WRITE)


def test_the_log_is_not_destroyed(broker: BrokerByHand, applied: Target) -> None:
    refused = applied.run("destroy", "-auto-approve")
    assert refused.returncode == 1
    assert "Instance cannot be destroyed" in refused.stdout
    print(refused.stdout)
    assert not applied.changes()


@pytest.mark.long(minutes=0.4)
@pytest.mark.parametrize("partitions", [1, 3])
def test_the_number_of_partitions_is_left_as_it_is(broker: BrokerByHand, applied: Target, partitions: int) -> None:
    topic = replace(broker.settings.topic, partitions=partitions)
    applied.set(log_access.variables(replace(broker.settings, topic=topic), adopt=False))
    try:
        with pytest.raises(TerraformFailed) as told:
            applied.apply()
        assert f"has 2 partitions, and topic.partitions says {partitions}" in in_one_line(told)
        print(told.value)
    finally:
        applied.set(log_access.variables(broker.settings, adopt=False))
    assert not applied.changes()
    assert broker.partitions() == 2


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("bootstrap", ["k1"], "must be addresses like"),
        ("bootstrap", ["k1.example.com:9092"], "would be read on the way"),
        ("protocol", "PLAINTEXT", "without a sign-in there are no users"),
        ("secrets", "/nowhere", "no file kafka_admin.properties in '/nowhere'"),
        ("quotas", {"nobody": {"consumer_byte_rate": 2e6}}, "quotas names somebody else"),
    ],
)
def test_a_wrong_value_is_refused_before_anybody_is_asked(
    broker: BrokerByHand, applied: Target, name: str, value: object, why: str
) -> None:
    right = log_access.variables(broker.settings, adopt=False)
    applied.set({**right, name: value})
    try:
        with pytest.raises(TerraformFailed) as told:
            applied.changes()
        assert why in in_one_line(told)
        print(told.value)
    finally:
        applied.set(right)


def in_one_line(told: pytest.ExceptionInfo[TerraformFailed]) -> str:
    return " ".join(str(told.value).split())


ACTIONS = (writes, reads, reads_in_a_group, makes_a_topic, empties_the_log)
READERS = (KafkaUser.STREAM, KafkaUser.CONTROL, KafkaUser.READER)
ALLOWED = {(KafkaUser.PRODUCER, writes), (KafkaUser.READER, reads_in_a_group), *((user, reads) for user in READERS)}


@pytest.mark.long(minutes=0.4)
def test_each_user_can_do_what_he_is_for_and_nothing_else(broker: BrokerByHand, applied: Target) -> None:
    done: set[tuple[KafkaUser, Callable[..., None]]] = set()
    for user in RIGHTS:
        for action in ACTIONS:
            try:
                action(broker, user)
                done.add((user, action))
            except Exception as error:
                print(f"{user} {action.__name__}: {type(error).__name__} {error}")
    assert done == ALLOWED


@pytest.mark.long(minutes=0.4)
def test_no_password_is_in_the_state_a_plan_or_a_log_nor_told_to_a_process(
    broker: BrokerByHand, applied: Target
) -> None:
    user, server = KafkaUser.CONTROL, broker.settings.kafka_server
    new = kafka_users.password_file(user, server.protocol, secrets.token_urlsafe(24))
    passwords.write_private(broker.settings.kafka_access(user).file, new)
    held = {each: broker.settings.kafka_access(each).librdkafka()[PASSWORD].encode() for each in KafkaUser}
    applied.set(log_access.variables(broker.settings, adopt=False))
    told, over = list[bytes](), threading.Event()
    watching = threading.Thread(target=watch, args=(told, over))
    watching.start()
    try:
        assert applied.changes("-out=a.tfplan"), "another password was not seen"
        assert applied.run("apply", "a.tfplan").returncode == 0
    finally:
        over.set()
        watching.join()
    assert any(b"terraform-provider-kafka" in line for line in told)
    assert [each for each, word in held.items() if any(word in line for line in told)] == []
    plan = applied.folder / "targets" / "local" / "a.tfplan"
    files = {file: file.read_bytes() for file in applied.folder.rglob("*") if file.is_file()}
    assert {applied.state, applied.log, plan} <= files.keys()
    with zipfile.ZipFile(plan) as packed:
        files[plan] = b"".join(packed.read(name) for name in packed.namelist())
    assert [(each, file) for file, text in files.items() for each, word in held.items() if word in text] == []
    trial_of(broker, user).act()


def watch(told: list[bytes], over: threading.Event) -> None:
    """What each process of this machine has on its command line and in its environment, again and again."""
    while not over.is_set():
        for process in psutil.process_iter(["cmdline", "environ"]):
            told.append(repr((process.info["cmdline"], process.info["environ"])).encode())


def trial_of(broker: BrokerByHand, user: KafkaUser) -> Trial:
    """What doctor tries of a user."""
    return next(trial for trial in topic_shape.trials(broker.settings) if trial.what == f"user {user}")


@pytest.mark.long(minutes=0.4)
def test_a_stack_that_made_its_topic_by_itself_is_taken_over_as_it_is(broker: BrokerByHand, applied: Target) -> None:
    writes(broker, KafkaUser.PRODUCER)
    Path(applied.state).unlink()
    kafka.ensure_topic(broker.settings)
    for _ in range(2):
        log_access.apply(applied, broker.settings)
        assert not applied.changes()
        reads(broker, KafkaUser.READER)
