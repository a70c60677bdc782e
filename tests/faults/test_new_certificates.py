"""On several hosts, all of it secured: each certificate is replaced, the authority, too, and no record is lost."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from stack.services import certificates
from stack.waiting import until
from tests.rigs.certificates import DAYS
from tests.rigs.lab import services
from tests.rigs.lab.losses import PATIENCE_SECONDS, Watch, pause, traffic
from tests.rigs.lab.parts import BROKERS, ELECTION, MASTERS, POSTGRES
from tests.rigs.lab.services import HOSTS, Installed

pytestmark = pytest.mark.long(minutes=6)
JOB = "ad_ctr"
ON_ONE_HOST = {"executors": 1, "executor_cores": 1, "executor_memory_mb": 512, "state_partitions": 2}
REPLICAS = 3


@pytest.fixture(scope="module")
def deployed() -> Iterator[Installed]:
    """A job that reads."""
    with services.installation() as made:
        made.ask("produce", "1", "2000")
        assert "is deployed" in made.ask("deploy", JOB, json.dumps(ON_ONE_HOST), seconds=PATIENCE_SECONDS)
        yield made


def test_each_certificate_and_the_authority_are_replaced_and_nothing_is_lost(deployed: Installed) -> None:
    """As the runbook says: what everybody trusts first, then what servers show, then what nobody needs any more."""
    tls = deployed.lab.folder / "tls"
    old, new = (tls / "ca.pem").read_text(), authority(tls / "next")
    with traffic(deployed, seed=2) as sent:
        trust(deployed, new + old)
    first = sent()
    # A producer that was started before trusts the old authority only.
    with traffic(deployed, seed=3) as sent:
        show(deployed)
        assert [trusted_by(deployed, host, new) for host in (*BROKERS, POSTGRES)] == [True] * (REPLICAS + 1)
        assert [trusted_by(deployed, host, old) for host in (*BROKERS, POSTGRES)] == [False] * (REPLICAS + 1)
    second = sent()
    with traffic(deployed, seed=4) as sent:
        trust(deployed, new)
    watch = Watch(deployed, JOB)
    assert until(lambda: watch.unread() == 0, PATIENCE_SECONDS, 2.0), "the log was not read"
    times = [at for at, _ in watch.commits(0.0)]
    print(f"\n{first + second + sent()} records; longest pause {pause(times, times[0], times[-1]):.0f} s")
    assert json.loads(deployed.ask("differences")) == []


def authority(folder: Path) -> str:
    """Another authority and the hosts' certificate by it, in a folder; what trusts it."""
    certificates.ensure(folder, "host", [*HOSTS, "localhost"], DAYS)
    return (folder / "ca.pem").read_text()


def trust(installed: Installed, authorities: str) -> None:
    """Everybody trusts these: servers of the log and the masters among themselves, drivers by a restart."""
    (installed.lab.folder / "tls" / "ca.pem").write_text(authorities)
    restart_servers(installed)
    installed.ask("rescale", JOB, json.dumps({"executors": turn(installed)}), seconds=PATIENCE_SECONDS)


def turn(installed: Installed) -> int:
    """Another number of executors than now: a change of it is a restart."""
    running = sum(len(found) for found in Watch(installed, JOB).executors().values())
    return 2 if running == 1 else 1


def show(installed: Installed) -> None:
    """All servers show the certificate of the next authority."""
    tls, place = installed.lab.folder / "tls", installed.lab.folder / POSTGRES / "tls"
    for name in ("host.key", "host.pem", "host.both.pem"):
        (tls / name).write_bytes((tls / "next" / name).read_bytes())
        if (place / name).exists():
            (place / name).write_bytes((tls / name).read_bytes())
    for process in installed.lab.processes(POSTGRES):
        if "-D" in process.info["cmdline"]:
            process.send_signal(signal.SIGHUP)
    restart_servers(installed)


def restart_servers(installed: Installed) -> None:
    """Brokers one at a time, each once all replicas are in sync; ZooKeeper, and with it the masters."""
    for host in BROKERS:
        restart(installed, host)
        assert until(lambda: in_sync(installed) == REPLICAS, PATIENCE_SECONDS, 2.0), f"{host} does not follow"
    for host in (ELECTION, *MASTERS):
        stop(installed, host)
    for host in (ELECTION, *MASTERS):
        installed.start(host)
    assert until(lambda: installed.answer("hosts") == REPLICAS - 1, PATIENCE_SECONDS, 2.0), "no master leads"


def restart(installed: Installed, host: str) -> None:
    stop(installed, host)
    installed.start(host)


def stop(installed: Installed, host: str) -> None:
    """Have the program of a host end, and wait until it has."""
    programs = [one for one in installed.lab.processes(host) if "java" in one.name()]
    for program in programs:
        program.terminate()
    _, left = psutil.wait_procs(programs, PATIENCE_SECONDS)
    assert left == []


def in_sync(installed: Installed) -> object:
    """The fewest replicas in sync of a partition."""
    answer = installed.answer("ends", "0")
    return answer[-1][-1] if isinstance(answer, list) else answer


def trusted_by(installed: Installed, host: str, authorities: str) -> bool:
    """Whether who trusts these authorities speaks to a host's server."""
    file = installed.lab.folder / "tls" / "asked.pem"
    file.write_text(authorities)
    to = f"-starttls postgres -connect {host}:5432" if host == POSTGRES else f"-connect {host}:9092"
    asked = f"openssl s_client -verify_return_error -brief -CAfile {file} {to} 2>&1 || true"
    said = installed.lab.run(host, ["bash", "-c", asked], 60)
    assert ("Verification: OK" in said) != ("verify failed" in said), said
    return "Verification: OK" in said
