"""On several hosts, all of it secured: every port that is open is a door, and who has no secret, a wrong one or another
role's is told no; and no secret is where it does not belong."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence

import pytest

from stack.services import passwords
from stack.waiting import until
from tests.rigs.held_secrets import HANDED_DOWN, found, secrets_of
from tests.rigs.lab import services
from tests.rigs.lab.losses import PATIENCE_SECONDS, Watch
from tests.rigs.lab.parts import BROKERS, CLIENT, ELECTION, ELECTION_PORT, MASTERS, POSTGRES, WORKERS
from tests.rigs.lab.services import HOSTS, Installed

pytestmark = pytest.mark.long(minutes=6)
JOB = "ad_ctr"
ON_TWO_HOSTS = {"executors": 2, "executor_cores": 1, "executor_memory_mb": 512, "state_partitions": 2}
SUBMISSIONS, LEADING, MASTERS_PAGE, WORKERS_PAGE = 6066, 7077, 8080, 8081
OPEN = {
    **{host: {9092, 9093} for host in BROKERS},
    POSTGRES: {5432},
    ELECTION: {ELECTION_PORT},
    **{host: {SUBMISSIONS, LEADING, MASTERS_PAGE} for host in MASTERS},
    CLIENT: set(),
}
"""The ports that are open on each host; those of drivers and executors, on workers' hosts, are other ones each time."""
UNKNOWN = "bm90LXRoZS1zZWNyZXQ="
REFUSED = "Authentication failed"
"""What a process of Spark is told whose secret is another one."""
LET_IN = "Successfully registered"
"""What it says that was taken on."""


@pytest.fixture(scope="module")
def deployed() -> Iterator[Installed]:
    """A job that has read the log: first with two executors, then, started again, with one."""
    with services.installation() as made:
        made.ask("produce", "1", "2000")
        assert "is deployed" in made.ask("deploy", JOB, json.dumps(ON_TWO_HOSTS), seconds=PATIENCE_SECONDS)
        made.ask("rescale", JOB, json.dumps({"executors": 1}), seconds=PATIENCE_SECONDS)
        assert until(lambda: Watch(made, JOB).unread() == 0, PATIENCE_SECONDS, 2.0), "the log was not read"
        yield made


def test_whoever_may_not_is_told_no_at_every_open_port(deployed: Installed) -> None:
    ports = {host: listening(deployed, host) for host in (*OPEN, *WORKERS)}
    assert {host: ports[host] for host in OPEN} == OPEN
    assert all(WORKERS_PAGE in ports[host] for host in WORKERS)
    pages = [f"http://{host}:{MASTERS_PAGE}/" for host in MASTERS]
    pages += [f"http://{host}:{SUBMISSIONS}/v1/submissions/create" for host in MASTERS]
    pages += [f"http://{host}:{WORKERS_PAGE}/" for host in WORKERS]
    spoken = {host: ports[host] - {SUBMISSIONS, MASTERS_PAGE, WORKERS_PAGE} for host in (*MASTERS, *WORKERS)}
    processes = [f"{host}:{port}" for host, open_there in spoken.items() for port in sorted(open_there)]
    told = knock(deployed, *pages, *processes)
    print("\n" + "\n".join(f"{door} | {who} | {said}" for door, who, _, said in told))
    assert [one for *one, expected, said in told if not re.search(expected, said)] == []


def test_a_worker_with_another_secret_is_no_host_of_the_cluster(deployed: Installed) -> None:
    settings = deployed.settings
    own, other = passwords.spark_worker(settings), settings.secrets / "another.properties"
    passwords.write_private(other, own.read_text().replace(passwords.spark_secret(settings), UNKNOWN))
    command = [word.replace(str(own), str(other)) for word in deployed.parts[WORKERS[0]].command]
    command[command.index(WORKERS[0])] = CLIENT
    said = refused(deployed, "another-worker", command, deployed.parts[WORKERS[0]].environment)
    print(f"\nSpark, a master | a worker with another secret | {said}")
    assert deployed.answer("hosts") == len(WORKERS)


def test_an_executor_with_another_secret_gets_nothing_from_a_driver(deployed: Installed) -> None:
    (running,) = [one for found in Watch(deployed, JOB).executors().values() for one in found]
    command = list(running.info["cmdline"])
    for option, value in (("--hostname", CLIENT), ("--executor-id", "77")):
        command[command.index(option) + 1] = value
    more = {name: value for name, value in running.environ().items() if name.startswith("SPARK_")}
    said = refused(deployed, "another-executor", command, {**more, HANDED_DOWN: UNKNOWN})
    print(f"\nSpark, a driver | an executor with another secret | {said}")


def test_no_secret_is_in_any_file_but_its_own_nor_told_to_other_processes(deployed: Installed) -> None:
    """Logs, checkpoints, the shared folder, the folders of servers, drivers and executors; command lines and
    environments; all rows of the database."""
    folder, tls = deployed.lab.folder, deployed.lab.folder / "tls"
    secrets = secrets_of(deployed.settings, keys=(tls / "ca.key", tls / "host.key"))
    kept = {deployed.settings.secrets, tls, folder / POSTGRES / "tls"}
    files = [file for file in folder.rglob("*") if file.is_file() and kept.isdisjoint(file.parents)]
    texts = {str(file): file.read_bytes() for file in files}
    assert {"k1", "zk", "pg", "shared", "spark", "logs"} <= {file.relative_to(folder).parts[0] for file in files}
    processes = [one for host in HOSTS for one in deployed.lab.processes(host)]
    assert any("kafka.Kafka" in one.info["cmdline"] for one in processes)
    for one in processes:
        told = {name: value for name, value in one.environ().items() if name != HANDED_DOWN}
        texts[f"process {one.pid}"] = json.dumps([one.info["cmdline"], told]).encode()
    texts["rows"] = deployed.ask("rows").encode()
    assert b"state_partitions" in texts["rows"]
    assert found(secrets, texts) == []
    print(f"\n{len(secrets)} secrets, {len(files)} files, {len(processes)} processes, all rows: none is there")


def knock(installed: Installed, *addresses: str) -> list[list[str]]:
    """What a stranger is told on the client's host, door by door."""
    command = [sys.executable, "-m", "tests.rigs.lab.stranger", *addresses]
    told: list[list[str]] = json.loads(installed.lab.run(CLIENT, command, PATIENCE_SECONDS, installed.environment))
    return told


def refused(installed: Installed, name: str, command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Start a program on the client's host, wait until it says that it was refused, and end it; what it said."""
    log, said = installed.lab.folder / "logs" / name, list[str]()

    def told() -> bool:
        said[:] = [line for line in log.read_text().splitlines() if REFUSED in line]
        return bool(said)

    installed.lab.spawn(CLIENT, name, command, environment)
    try:
        assert until(told, PATIENCE_SECONDS, 1.0), log.read_text()
    finally:
        for process in installed.lab.processes(CLIENT):
            if "java" in process.name():
                process.kill()
    assert LET_IN not in log.read_text()
    return said[0].strip()


def listening(installed: Installed, host: str) -> set[int]:
    """The ports of a host that others can reach."""
    lines = installed.lab.run(host, ["ss", "-Hltn"], 60).splitlines()
    local = [line.split()[3].rpartition(":") for line in lines]
    return {int(port) for address, _, port in local if "127." not in address and address != "[::1]"}
