"""Hosts on one machine: each has a network, a host name and processes of its own, and can be cut off or lost."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

SWITCH = "switch"
"""The host that all cables end at; nothing else runs there."""
NETWORK = "10.77.0"
PATIENCE_SECONDS = 20
NOBODYS = "02:00:00:00:00:01"
"""The address of no cable: what is sent there is lost without a word, as on a broken one."""
_HOST = ("unshare", "-nmupf", "--kill-child", "--mount-proc", "sh", "-c")


def missing() -> str:
    """Why there can be no hosts on this machine; empty where there can."""
    try:
        subprocess.run([*_HOST, "ip link set lo up"], check=True, capture_output=True, timeout=PATIENCE_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        return f"no network namespaces here ({error}): run as root, with unshare, nsenter and ip"
    return ""


@dataclass
class Lab:
    """Hosts by name; `folder` is seen by all of them at the same path, as a mounted one would be."""

    folder: Path
    names: tuple[str, ...]
    _first: dict[str, int] = field(default_factory=dict)
    _started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def address(self, host: str) -> str:
        """The host's address."""
        return f"{NETWORK}.{10 + self.names.index(host)}"

    def spawn(
        self, host: str, name: str, command: Sequence[str], more: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a process on a host; what it says is in `logs/NAME`. `more` is added to the environment."""
        with (self.folder / "logs" / name).open("ab") as log:
            started = subprocess.Popen(
                [*self._enter(host), *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, env={**os.environ, "SPARK_LOCAL_HOSTNAME": host, **(more or {})},
            )  # fmt: skip
        self._started.append(started)
        return started

    def run(self, host: str, command: Sequence[str], seconds: float, more: Mapping[str, str] | None = None) -> str:
        """Run a program on a host to its end; what it wrote to stdout. Fails with all that it said."""
        done = subprocess.run(
            [*self._enter(host), *command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds,
            env={**os.environ, "SPARK_LOCAL_HOSTNAME": host, **(more or {})},
        )  # fmt: skip
        assert done.returncode == 0, f"{' '.join(command)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def cut(self, host: str) -> None:
        """Pull its cable: nothing gets out of it or in."""
        self._on(SWITCH, f"ip link set p-{host} down")

    def heal(self, host: str) -> None:
        """Put its cable back, and let everybody see everybody."""
        self._on(SWITCH, f"ip link set p-{host} up")
        for each in self.names:
            if each in self._first:
                self._on(each, "ip neigh flush dev eth0 nud permanent")

    def lose_sight(self, host: str, *of: str) -> None:
        """Nothing that one host sends to some others arrives, and nobody tells it; what they send does arrive."""
        for other in of:
            self._on(host, f"ip neigh replace {self.address(other)} lladdr {NOBODYS} nud permanent dev eth0")

    def mute(self, host: str) -> None:
        """Nothing gets out of it."""
        self.lose_sight(host, *self._others(host))

    def deafen(self, host: str) -> None:
        """Nothing gets in."""
        for other in self._others(host):
            self.lose_sight(other, host)

    def mount(self, host: str, what: Path, where: Path) -> None:
        """Let the host, and no other, see a folder at another path, too."""
        self._on(host, f"mount --bind {what} {where}")

    def hide(self, host: str, folder: Path) -> None:
        """Let the host, and no other, see nothing in a folder, and write nothing there: as where it is not mounted."""
        self._on(host, f"mount -t tmpfs -o ro none {folder}")

    def kill(self, host: str) -> None:
        """All processes of a host end at once, which its kernel tells whoever they spoke to; then its cable is gone."""
        first = self._first.pop(host)
        os.kill(first, signal.SIGKILL)
        _await_end(first)
        if host != SWITCH:
            self._on(SWITCH, f"ip link del p-{host} || true")

    def processes(self, host: str) -> Iterator[psutil.Process]:
        """What runs on a host."""
        network = Path(f"/proc/{self._first[host]}/ns/net").readlink()
        for process in psutil.process_iter(["cmdline"]):
            with suppress(OSError, psutil.Error):
                if Path(f"/proc/{process.pid}/ns/net").readlink() == network:
                    yield process

    def up(self) -> None:
        """Make the hosts, each with its name and a cable to the switch."""
        (self.folder / "logs").mkdir(parents=True, exist_ok=True)
        lines = [f"{self.address(name)} {name}\n" for name in self.names]
        (self.folder / "hosts").write_text("127.0.0.1 localhost\n" + "".join(lines))
        for name in (SWITCH, *self.names):
            self.boot(name)

    def down(self) -> None:
        """End all hosts and what runs on them."""
        for name in (*self.names, SWITCH):
            if name in self._first:
                self.kill(name)
        for process in self._started:
            process.wait(PATIENCE_SECONDS)

    def boot(self, name: str) -> None:
        """A host that is not there, with its name and a cable to the switch; nothing runs on it."""
        first = f"mount --bind {self.folder}/hosts /etc/hosts; hostname {name}; ip link set lo up; exec sleep infinity"
        silent = subprocess.DEVNULL
        unshared = subprocess.Popen([*_HOST, first], stdin=silent, stderr=silent, start_new_session=True)
        self._started.append(unshared)
        self._first[name] = _child(unshared.pid)
        _await_name(self._enter(name), name)
        if name == SWITCH:
            self._on(SWITCH, "ip link add br0 type bridge; ip link set br0 up")
            return
        cable = f"ip link add p-{name} type veth peer name eth0 netns {self._first[name]}"
        subprocess.run(["nsenter", "-t", str(self._first[SWITCH]), "-n", *cable.split()], check=True)
        self._on(SWITCH, f"ip link set p-{name} master br0 up")
        self._on(name, f"ip addr add {self.address(name)}/24 dev eth0; ip link set eth0 up")

    def _others(self, host: str) -> list[str]:
        return [name for name in self.names if name not in (host, SWITCH) and name in self._first]

    def _enter(self, host: str) -> list[str]:
        return ["nsenter", "-t", str(self._first[host]), "-n", "-m", "-u", "-p", f"--wd={self.folder}"]

    def _on(self, host: str, line: str) -> None:
        subprocess.run([*self._enter(host), "sh", "-c", line], check=True, capture_output=True)


@contextmanager
def lab(folder: Path, *names: str) -> Iterator[Lab]:
    """Hosts for as long as the body runs."""
    made = Lab(folder, names)
    made.up()
    try:
        yield made
    finally:
        made.down()


def _child(parent: int) -> int:
    """The first process of a host, as this machine numbers it."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if found := Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
            return int(found[0])
        time.sleep(0.02)
    raise TimeoutError(f"no host came up below process {parent}")


def _await_end(first: int) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while Path(f"/proc/{first}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)


def _await_name(enter: Sequence[str], name: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        said = subprocess.run([*enter, "sh", "-c", "hostname; cat /etc/hosts"], capture_output=True, text=True)
        if said.stdout.startswith(name) and NETWORK in said.stdout:
            return
        time.sleep(0.05)
    raise TimeoutError(f"host {name} did not come up")
