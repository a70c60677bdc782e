"""Checks that the ports of the stack are free, and names the holder of one that is not."""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields

import psutil

from kappa.core.installation.addresses import LOOPBACK
from kappa.core.installation.embedded import Ports
from kappa.core.refusals import Refusal
from stack.programs import Program


@dataclass(frozen=True)
class Use:
    """A port that a program of the stack wants; `setting` is its name in kappa.toml."""

    program: str
    setting: str
    port: int


class PortTaken(Refusal):
    """A port of the stack is held by a process that is not ours."""

    def __init__(self, use: Use, holder: str) -> None:
        super().__init__(
            f"port {use.port} of {use.program} is held by {holder}. End that process, or give another port "
            f"in kappa.toml, beside the state folder: ports.{use.setting} = NUMBER. Nothing was started."
        )


class PortTwice(Refusal):
    """Two settings name the same port."""

    def __init__(self, port: int, settings: list[str]) -> None:
        super().__init__(f"kappa.toml gives port {port} to {' and '.join(settings)}. Give each a port of its own.")


def uses(ports: Ports, programs: Iterable[Program]) -> list[Use]:
    """The ports that these programs want."""
    return [Use(program.name, name, getattr(ports, name)) for program in programs for name in program.ports]


def check_distinct(ports: Ports) -> None:
    """Raises PortTwice when two settings name the same port."""
    by_port: dict[int, list[str]] = {}
    for setting in fields(ports):
        by_port.setdefault(getattr(ports, setting.name), []).append(setting.name)
    for port, settings in by_port.items():
        if len(settings) > 1:
            raise PortTwice(port, settings)


def check_free(wanted: Iterable[Use], ours: Collection[int] = ()) -> None:
    """Raises PortTaken for the first port that a process other than `ours` (pids) holds."""
    for use in wanted:
        if not _is_free(use.port) and (pid := _holder(use.port)) not in ours:
            raise PortTaken(use, _describe(pid))


def taken(use: Use) -> PortTaken:
    """The refusal of a port that somebody holds, with who that is."""
    return PortTaken(use, _describe(_holder(use.port)))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def _holder(port: int) -> int | None:
    """The process that listens on a port; None when it belongs to somebody else and cannot be seen."""
    connections = psutil.net_connections("inet")
    holders = [c.pid for c in connections if c.laddr and c.laddr.port == port and c.status == psutil.CONN_LISTEN]
    holders += [c.pid for c in connections if c.laddr and c.laddr.port == port]
    return next((pid for pid in holders if pid), None)


def _describe(pid: int | None) -> str:
    if pid is None:
        return "a process of another user (its name cannot be seen from here)"
    try:
        return f"process {pid} ({psutil.Process(pid).name()})"
    except psutil.Error:
        return f"process {pid}"
