"""The program that Spark starts: claims its launch, takes the version over, and runs its driver."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import time
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import FrameType

# Started as a file, this folder comes first on the path and would hide modules of other packages.
sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != Path(__file__).resolve().parent]

from jobs import standby
from jobs.driver import registry as driver_registry
from jobs.driver import restarts
from jobs.driver.ownership import Failover, Identity, LaunchLost, Orphaned
from jobs.driver.query_loop import Driver
from jobs.driver.registry import ALIVE, DriverRegistry
from jobs.outcome import ParentGone
from jobs.rescale.change_store import PostgresChangeStore
from jobs.sinks.ledger import Fenced
from kappa.core import artifact_files
from kappa.core.installation import settings as platform
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.core.versions import State

logger = logging.getLogger("kappa.run")


def main() -> int:
    """Run until asked to stop. 0: nothing more to do here; 1: supervision shall start it again."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("py4j").setLevel(logging.WARNING)
    signal.signal(signal.SIGTERM, _leave)
    arguments = _arguments()
    # A driver runs in a folder named after its submission, also when supervision starts it again.
    submission_id = Path.cwd().name
    settings = platform.load(arguments.home)
    registry = DriverRegistry(settings, arguments.job, arguments.version)
    try:
        if arguments.standby and not _called(settings, registry, arguments):
            logger.info("this driver was not called; nothing to do")
            return 0
        if not _claimed(settings, registry, arguments.launch, submission_id):
            logger.info("launch %s belongs to another driver; nothing to do", arguments.launch)
            return 0
    except ParentGone as gone:
        logger.warning("%s", gone)
        return 0
    return _supervised(settings, registry, arguments, submission_id)


def _called(settings: Settings, registry: DriverRegistry, arguments: argparse.Namespace) -> bool:
    """Stand by until the launch, which bears the id of its change, is there; False where it will not come. Raises
    ParentGone."""
    changes = PostgresChangeStore(settings, arguments.job, arguments.version, arguments.launch)
    try:
        return standby.stand_by(settings, registry, changes, arguments.launch)
    finally:
        changes.close()


def _supervised(settings: Settings, registry: DriverRegistry, arguments: argparse.Namespace, submission_id: str) -> int:
    """Run the driver; end the launch where it must not be started again."""
    launch = (arguments.launch, submission_id)
    try:
        artifact_files.check()
        limits = settings.supervision
        restarts.check(registry.starts(submission_id, limits.within_minutes), limits)
        taken = registry.take_over(*launch, os.getpid())
        if taken is not None:
            version, epoch = taken
            Driver(settings, version, registry, Identity(submission_id, epoch, os.getppid())).run()
        registry.end_launch(*launch)
    except (Fenced, LaunchLost) as lost:
        logger.warning("%s", lost)
    except Orphaned:
        logger.warning("the process that started this driver is gone")
        return 1
    except Refusal as refusal:
        return _given_up(registry, launch, refusal)
    return 0


def _given_up(registry: DriverRegistry, launch: tuple[str, str], refusal: Refusal) -> int:
    """Say why, as long as the version is this driver's."""
    logger.error("%s", refusal)
    try:
        registry.fail(*launch, str(refusal))
    except LaunchLost as lost:
        logger.warning("%s", lost)
    return 0


def _claimed(settings: Settings, registry: DriverRegistry, launch_id: str, submission_id: str) -> bool:
    """Claim the launch; where another submission holds it, wait to see whether it is alive. One that was killed, with
    its worker, is replaced as soon as its connections are gone. One that is alive, but that this process was started to
    replace, is superseded then: it ends by itself at its next heartbeat. One that serves, where the settings ask for a
    driver that stands by, is waited for. Raises ParentGone."""
    if registry.claim(launch_id, submission_id):
        return True
    version, begun = registry.describe(), time.monotonic()
    connect = partial(driver_registry.connect, settings, version.job, version.version, None)
    with closing(Failover(connect, launch_id, submission_id)) as failover:
        while not (registry.claim(launch_id, submission_id) or failover.look()):
            if registry.launch_has_ended(launch_id) is not False:
                return False
            if settings.supervision.warm_standby and registry.describe().state is State.LIVE:
                return standby.await_failover(settings, registry, launch_id, submission_id)
            waited = timedelta(seconds=time.monotonic() - begun)
            if waited > 1.5 * ALIVE:
                return registry.supersede(launch_id, submission_id, waited)
            time.sleep(1)
    return True


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Driver of one version of a stream job.")
    parser.add_argument("--home", type=Path, required=True, help="state folder of the stack")
    parser.add_argument("--job", required=True)
    parser.add_argument("--version", type=int, required=True)
    parser.add_argument("--launch", required=True, help="the launch in the registry that this driver carries out")
    parser.add_argument("--standby", action="store_true", help="warm up and wait until that launch is there")
    return parser.parse_args()


def _leave(_signal: int, _frame: FrameType | None) -> None:
    """Go at once: what a batch has not committed, the next driver reads again."""
    os._exit(143)


if __name__ == "__main__":
    sys.exit(main())
