"""How a finite Spark program ends: its outcome, which it leaves for whoever started it, and its exit code."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from uuid import UUID

from jobs.rescale.change_store import ChangeEnded
from kappa.core import artifact_files
from kappa.core.changes import Outcome
from kappa.core.refusals import Refusal

logger = logging.getLogger("kappa.outcome")


class Exit(IntEnum):
    """Exit codes: FAILED may pass when it is tried again, REFUSED and ENDED will not."""

    DONE = 0
    FAILED = 1
    REFUSED = 2
    ENDED = 3


class ParentGone(Exception):  # noqa: N818 - an end, not an error
    """The process that started this program was ended; whoever ended it wants this one gone, too."""


def check_parent(pid: int) -> None:
    """Make sure that the JVM that started this process is still its parent: ended, it leaves an orphan behind.

    Raises ParentGone.
    """
    if os.getppid() != pid:
        raise ParentGone(f"process {pid}, which started this one, is gone")


def arguments(description: str) -> argparse.Namespace:
    """The command line of such a program: home, job, version, change, attempt."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--home", type=Path, required=True, help="state folder of the stack")
    parser.add_argument("--job", required=True)
    parser.add_argument("--version", type=int, required=True)
    parser.add_argument("--change", type=lambda text: str(UUID(text)), required=True, help="the change it works for")
    parser.add_argument("--attempt", type=UUID, required=True, help="which run of it this is")
    return parser.parse_args()


def carry_out(leave: Callable[[Outcome], None], act: Callable[[], Outcome]) -> Exit:
    """Act, and leave the outcome where each task of the change's run finds it. What may pass is raised once it is
    left."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("py4j").setLevel(logging.WARNING)
    try:
        artifact_files.check()
        outcome = act()
    except Refusal as refusal:
        logger.error("%s", refusal)
        leave(Outcome(str(refusal), {"refusal": type(refusal).__name__}, ok=False))
        return Exit.REFUSED
    except ChangeEnded as ended:
        logger.warning("%s", ended)
        leave(Outcome(f"Nothing was done: {ended}.", {}, ok=False))
        return Exit.ENDED
    except Exception as error:
        leave(Outcome(f"{type(error).__name__}: {error}".splitlines()[0][:500], {}, ok=False, may_pass=True))
        raise
    logger.info("%s", outcome.sentence)
    leave(outcome)
    return Exit.DONE
