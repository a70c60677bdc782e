"""The process of the monitor: `python -m` this module, ended by SIGTERM."""

from __future__ import annotations

import logging
import signal
import socket
import threading
import time
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from kappa.core.installation import settings as platform
from kappa.core.installation.settings import Settings
from stack.alerts import targets
from stack.alerts.judge import Judge
from stack.alerts.memory import MemoryFile
from stack.alerts.notifier import Notifier
from stack.alerts.wording import Installation
from stack.monitor import endpoint
from stack.monitor.look import LOOK_SECONDS, Looks, look

UNTOLD_SECONDS = 30.0
"""Where nobody is to be told, a look is taken so often; whoever asks for findings or metrics has a newer one taken."""
CHECKOUT = Path(__file__).resolve().parents[2]
logger = logging.getLogger("kappa.monitor")


def run(settings: Settings, checkout: Path, ended: threading.Event) -> None:
    """Serve metrics and findings, and tell the targets if there are any, until this has ended. Raises NoAddress,
    PlainTarget, NotifierRuns, PortTaken."""
    told = targets.read(settings)
    looks, file = Looks(partial(look, settings, checkout)), MemoryFile(settings.home)
    judge = Judge(settings.alerts.disk_free_mb, settings.airflow_url, file.read().starts if told else {})
    with file.held() if told else nullcontext(), endpoint.serving(settings, looks, judge):
        if told:
            _notify(Notifier(settings.alerts, _here(settings), told, file, judge), looks, ended)
        else:
            logger.info("alerts.targets names nobody: metrics are served, nobody is told of incidents")
            _watch(judge, looks, ended)


def _here(settings: Settings) -> Installation:
    return Installation(f"{socket.gethostname()}:{settings.home}", settings.is_embedded)


def _watch(judge: Judge, looks: Looks, ended: threading.Event) -> None:
    """Look now and then though nobody is to be told: a backlog that grows is known from looks without a gap."""
    while not ended.wait(UNTOLD_SECONDS):
        judge.judge(looks.newest())


def _notify(notifier: Notifier, looks: Looks, ended: threading.Event) -> None:
    while not ended.is_set():
        notifier.take(looks.newest())
        notifier.deliver(time.time())
        ended.wait(LOOK_SECONDS)


def main() -> None:
    """Run until SIGTERM or SIGINT."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    run(platform.from_environment(CHECKOUT), CHECKOUT, ended)


if __name__ == "__main__":
    main()
