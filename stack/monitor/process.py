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
from stack.alerts.memory import MemoryFile
from stack.alerts.notifier import Notifier
from stack.alerts.wording import Installation
from stack.monitor import endpoint
from stack.monitor.look import LOOK_SECONDS, Looks, look

CHECKOUT = Path(__file__).resolve().parents[2]
logger = logging.getLogger("kappa.monitor")


def run(settings: Settings, checkout: Path, ended: threading.Event) -> None:
    """Serve metrics, and tell the targets if there are any, until this has ended. Raises NoAddress, PlainTarget,
    NotifierRuns, PortTaken."""
    told = targets.read(settings)
    looks, file = Looks(partial(look, settings, checkout)), MemoryFile(settings.home)
    with file.held() if told else nullcontext(), endpoint.serving(settings, looks):
        if told:
            _notify(settings, told, looks, file, ended)
        else:
            logger.info("alerts.targets names nobody: metrics are served, nobody is told of incidents")
            ended.wait()


def _notify(
    settings: Settings, told: list[targets.Target], looks: Looks, file: MemoryFile, ended: threading.Event
) -> None:
    here = Installation(f"{socket.gethostname()}:{settings.home}", settings.is_embedded, settings.airflow_url)
    notifier = Notifier(settings.alerts, here, told, file)
    logger.info("incidents are told to %s", ", ".join(target.name for target in told))
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
