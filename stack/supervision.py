"""The supervisor: its configuration from the programs, its start, and questions over a private socket."""

from __future__ import annotations

import http.client
import os
import shlex
import socket
import subprocess
import tempfile
import xmlrpc.client
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from kappa.core.refusals import Refusal
from stack.layout import Layout
from stack.programs import NotHealthy, Program
from stack.waiting import until

NAME = "supervisor"
SOCKET_LIMIT = 100
PATIENCE_SECONDS = 30.0
"""How long an answer is waited for by what needs one; whoever only looks waits less."""
ALIVE = ("STARTING", "RUNNING", "BACKOFF")
HEAD = """\
[unix_http_server]
file = {socket}
chmod = 0700
[supervisord]
logfile = {logs}/supervisord.log
logfile_maxbytes = 5MB
logfile_backups = 2
pidfile = {run}/supervisord.pid
childlogdir = {logs}
directory = {run}
umask = 077
identifier = kappa
{user}
[rpcinterface:supervisor]
supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface
"""
PROGRAM = """\
[program:{name}]
command = {command}
directory = {directory}
environment = {environment}
autostart = false
autorestart = true
startsecs = 2
startretries = 20
stopsignal = {signal}
stopwaitsecs = {patience}
stopasgroup = {group}
killasgroup = true
redirect_stderr = true
stdout_logfile = {log}
stdout_logfile_maxbytes = 10MB
stdout_logfile_backups = 3
{user}
"""


@dataclass(frozen=True)
class Process:
    """A supervised process as it is: `pid` is 0 when there is none; `state` is one of supervisor's words; `ended` is
    when its last run ended, if one has."""

    name: str
    pid: int
    state: str
    started: datetime
    ended: datetime | None = None

    @property
    def runs(self) -> bool:
        """Whether it runs, and has outlived the first seconds in which supervisor calls it STARTING."""
        return self.state == "RUNNING"

    @property
    def since(self) -> datetime | None:
        """Since when it is in its state; of one that is being stopped supervisor does not say."""
        if self.state == "STOPPING":
            return None
        return max(self.started, self.ended) if self.ended else self.started


class SupervisorSilent(Refusal):
    """There is a supervisor, and it does not answer in time: nobody knows what runs."""

    def __init__(self, layout: Layout, seconds: float) -> None:
        super().__init__(
            f"the supervisor did not answer within {seconds:g} s. Nothing was started or stopped. Its pid is in "
            f"{layout.run / 'supervisord.pid'}: kill -CONT lets it go on if it was stopped; if it does not answer "
            "then, './kappa down' ends it and all that it keeps, and './kappa up' starts them anew."
        )


def render(layout: Layout, programs: Iterable[Program], socket: Path, root: bool) -> str:
    """supervisord.conf; a `%` in a value is written twice, as supervisor wants it."""
    head = HEAD.format(
        socket=_escape(socket),
        logs=_escape(layout.logs),
        run=_escape(layout.run),
        user="user = root" if root else "",
    )
    return "\n".join([head, *(_program(layout, program) for program in programs)])


class Supervisor:
    """The supervisor of one stack; who waits for an answer for more than so many seconds raises SupervisorSilent."""

    def __init__(self, layout: Layout, seconds: float = PATIENCE_SECONDS) -> None:
        self.layout, self.seconds = layout, seconds
        self.configuration = layout.run / "supervisord.conf"

    def running(self) -> bool:
        """It answers on its socket."""
        try:
            self._ask("getState")
        except (OSError, xmlrpc.client.Error):
            return False
        return True

    def start(self, programs: list[Program]) -> None:
        """Write the configuration and start the supervisor without any program. Raises NotHealthy."""
        self.layout.run.mkdir(exist_ok=True)
        self.configuration.write_text(render(self.layout, programs, self._make_socket(), os.geteuid() == 0))
        command = [self.layout.python, "-m", "supervisor.supervisord", "-c", str(self.configuration)]
        log = self.layout.logs / "supervisord.log"
        done = subprocess.run(command, env=self.layout.surroundings, cwd="/", capture_output=True, text=True)
        if done.returncode or not until(self.running, 15):
            log.write_text(done.stdout + done.stderr)
            raise NotHealthy("supervisor", "did not start", log)

    def outdated(self, programs: list[Program]) -> bool:
        """The settings have changed since the supervisor was started."""
        return self.configuration.read_text() != render(self.layout, programs, self._socket(), os.geteuid() == 0)

    def processes(self) -> list[Process]:
        """Every program of the configuration, in its order; none when the supervisor does not run."""
        try:
            infos: list[dict[str, Any]] = self._ask("getAllProcessInfo")
        except (OSError, xmlrpc.client.Error):
            return []
        return [_process(info) for info in infos]

    def begin(self, names: Iterable[str]) -> list[str]:
        """Start those of these programs that do not run, without waiting; returns their names."""
        states = {process.name: process.state for process in self.processes()}
        missing = [name for name in names if states.get(name) not in ALIVE]
        for name in missing:
            self._ask("startProcess", name, False)
        return missing

    def stop(self, names: Iterable[str]) -> None:
        """Stop these programs at the same time and wait until they have ended."""
        alive = {process.name for process in self.processes() if process.state in (*ALIVE, "STOPPING")}
        wanted = [name for name in names if name in alive]
        for name in wanted:
            self._ask("stopProcess", name, False)
        until(lambda: not any(p.name in wanted and p.pid for p in self.processes()), 90)

    def shutdown(self) -> None:
        """End the supervisor itself and wait until it is gone."""
        process = self.process()
        self._ask("shutdown")
        if process:
            psutil.wait_procs([process], timeout=30)

    def process(self) -> psutil.Process | None:
        """The supervisor's own process; none when it does not run, or does not answer."""
        try:
            return psutil.Process(self._ask("getPID"))
        except (SupervisorSilent, OSError, xmlrpc.client.Error, psutil.Error):
            return None

    def _ask(self, question: str, *arguments: object) -> Any:
        transport = _Transport(self._socket(), self.seconds)
        try:
            with xmlrpc.client.ServerProxy("http://localhost", transport=transport) as server:
                return getattr(server.supervisor, question)(*arguments)
        except (TimeoutError, BlockingIOError) as error:  # the latter: too many wait to be let in already
            raise SupervisorSilent(self.layout, self.seconds) from error

    def _socket(self) -> Path:
        """Where the socket is: beside the pid file, or where the recorded short folder says."""
        record = self.layout.run / "socket"
        return Path(record.read_text()) if record.exists() else self.layout.run / "supervisor.sock"

    def _make_socket(self) -> Path:
        """A socket's path must be short: that of a deep state folder goes to a private temporary folder."""
        plain, record = self.layout.run / "supervisor.sock", self.layout.run / "socket"
        if len(os.fsencode(plain)) <= SOCKET_LIMIT:
            record.unlink(missing_ok=True)
            return plain
        if not (record.exists() and Path(record.read_text()).parent.is_dir()):
            record.write_text(f"{tempfile.mkdtemp(prefix='kappa-')}/supervisor.sock")
        return Path(record.read_text())


class _Connection(http.client.HTTPConnection):
    """HTTP by a socket in the file system; each read and write ends after so many seconds."""

    def __init__(self, path: Path, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


class _Transport(xmlrpc.client.Transport):
    """One question by such a connection."""

    def __init__(self, path: Path, seconds: float) -> None:
        super().__init__()
        self._connection = "localhost", _Connection(path, seconds)  # as if it had been asked there before


def _process(info: dict[str, Any]) -> Process:
    started, ended = (datetime.fromtimestamp(info[name], UTC) for name in ("start", "stop"))
    return Process(info["name"], info["pid"], info["statename"], started, ended if info["stop"] else None)


def _program(layout: Layout, program: Program) -> str:
    hidden = {} if program.uses_store else dict.fromkeys(layout.store_keys, "")
    given = sorted({**hidden, **program.environment}.items())
    environment = ",".join(f'{name}="{_escape(value)}"' for name, value in given)
    return PROGRAM.format(
        name=program.name,
        command=_escape(shlex.join(program.command)),
        directory=_escape(program.directory),
        environment=environment,
        signal=program.stop_signal,
        patience=program.patience,
        group=str(program.whole_group).lower(),
        log=_escape(_escape(layout.logs / f"{program.name}.log")),  # supervisor expands this one twice
        user=f"user = {program.user}" if program.user else "",
    )


def _escape(value: object) -> str:
    return str(value).replace("%", "%%")
