"""The program of a validation: reads a request, holds candidates, or what serves, against it, leaves the result as JSON
and as a page.

`python great_expectations/validate.py --input in.json --output out.json --report report.html`. It runs in a process of
its own, reads the database only, and writes the output last and whole: where there is none, it did not come to an end.
Exit code 0: passed; 1: failed (do not promote); anything else: crashed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path

# Before Great Expectations is imported: it reads this at import.
os.environ["GX_ANALYTICS_ENABLED"] = "false"


class Exit(IntEnum):
    """How the program ends."""

    PASSED = 0
    FAILED = 1
    CRASHED = 3


def main(arguments: Sequence[str] | None = None) -> Exit:
    """Validate as the arguments say; nothing is raised, since Python's own exit code for that is 1."""
    given = _arguments(arguments)
    given.output.unlink(missing_ok=True)
    try:
        return _validate(given.input, given.output, given.report)
    except Exception:
        traceback.print_exc()
        return Exit.CRASHED


def _validate(source: Path, output: Path, report: Path) -> Exit:
    from kappa.core import validation

    asked = validation.read(json.loads(source.read_text()))
    # Here, and not above: an environment in which it cannot be imported is a crash like any other; and who asks what
    # cannot be read need not wait for it.
    from gate import page, running

    verdict = running.judge(asked)
    _write(report, page.render(asked, verdict))
    _write(output, json.dumps(verdict.to_json(), indent=1))
    if verdict.crashed:
        return Exit.CRASHED
    return Exit.PASSED if verdict.success else Exit.FAILED


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name, meaning in (
        ("input", "the request"),
        ("output", "the result, as JSON"),
        ("report", "it as a page"),
    ):
        parser.add_argument(f"--{name}", type=Path, required=True, help=meaning)
    return parser.parse_args(arguments)


def _write(file: Path, text: str) -> None:
    """Write a file, whole or not at all."""
    new = file.with_name(file.name + ".new")
    new.write_text(text)
    new.replace(file)


if __name__ == "__main__":
    sys.exit(main())
