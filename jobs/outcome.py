"""How a finite Spark program ends: its result as a file for whoever started it, and its exit code."""

from __future__ import annotations

import argparse
import json
import logging
import os
from collections.abc import Callable, Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any
from uuid import UUID

from jobs.rescale.change_store import ChangeEnded
from kappa.core import environment
from kappa.core.changes import Outcome, outcome_file
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
    """The command line of such a program: home, job, version, change."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--home", type=Path, required=True, help="state folder of the stack")
    parser.add_argument("--job", required=True)
    parser.add_argument("--version", type=int, required=True)
    parser.add_argument("--change", type=lambda text: str(UUID(text)), required=True, help="the change it works for")
    return parser.parse_args()


def carry_out(program: str, shared: Path, change_id: str, act: Callable[[], Outcome]) -> Exit:
    """Act, and leave the outcome as a file of the shared folder, where each task of the change's run finds it."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("kafka").setLevel(logging.WARNING)
    logging.getLogger("py4j").setLevel(logging.WARNING)
    file = outcome_file(shared, change_id, program)
    file.unlink(missing_ok=True)
    try:
        environment.check()
        outcome = act()
    except Refusal as refusal:
        logger.error("%s", refusal)
        return _leave(file, Exit.REFUSED, str(refusal), {"refusal": type(refusal).__name__})
    except ChangeEnded as ended:
        logger.warning("%s", ended)
        return _leave(file, Exit.ENDED, f"Nothing was done: {ended}.", {})
    except Exception as error:
        _leave(file, Exit.FAILED, f"{type(error).__name__}: {error}".splitlines()[0][:500], {})
        raise
    logger.info("%s", outcome.sentence)
    return _leave(file, Exit.DONE, outcome.sentence, outcome.evidence)


def _leave(file: Path, code: Exit, sentence: str, evidence: Mapping[str, Any]) -> Exit:
    """Write the result under a temporary name, then give it its own: it is read whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    left = Outcome(sentence, evidence, ok=code is Exit.DONE, may_pass=code is Exit.FAILED)
    part.write_text(json.dumps(left.to_json(), indent=2))
    part.rename(file)
    return code
