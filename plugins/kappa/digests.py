"""What a change is: fingerprints of code and settings that tell a change of results or of state from any
other."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from jobs.catalog import JOBS, Effect, Job

DIGEST_LENGTH = 16
STATEFUL_MODULES = ("transforms/windows.py", "schemas.py")
"""What a window keeps: the aggregates and the element of its set, over the measures of the schemas."""
RESULT_MODULES = ("schemas.py", "fates.py")
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def digest(value: object) -> str:
    """The first 16 hex digits of the sha256 of a JSON value."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]


def file_digest(file: Path) -> str:
    """The sha256 of a file's bytes."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def tree_digest(root: Path, files: Iterable[Path]) -> str:
    """The digest of files by their path below `root` and their bytes."""
    return digest(sorted((file.relative_to(root).as_posix(), file_digest(file)) for file in files))


def code_digest(file: Path) -> str | None:
    """The fingerprint of what a module does: comments, layout and docstrings do not count; None if there
    is none."""
    if not file.exists():
        return None
    tree = ast.parse(file.read_text())
    for node in ast.walk(tree):
        if isinstance(node, Documented) and _is_docstring(node.body):
            node.body = node.body[1:]
    return digest(ast.unparse(tree))


def _is_docstring(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)


def state_shape(code: Path, job: Job) -> str:
    """The fingerprint of what a job's checkpoint holds: operators in order, keys, window, aggregates.

    `code` is a `jobs` folder. The aggregates and the element of the set are the code of its stateful modules.
    """
    operators = [code_digest(code / name) for name in STATEFUL_MODULES] if job.stateful else []
    return digest(
        {"operators": operators, "keys": list(job.keys), "window_ms": job.window_ms if job.stateful else None}
    )


def result_code(code: Path, job: Job) -> str:
    """The fingerprint of all code from decode to aggregate that can change a number of the job.

    What jobs' pipelines share is in it, other jobs' own pipelines, tuning settings and descriptions are not.
    """
    modules = sorted((code / "transforms").glob("*.py")) + [code / name for name in RESULT_MODULES]
    modules += [file for file in sorted((code / "pipelines").glob("*.py")) if file.stem not in JOBS.keys() - {job.name}]
    return digest([_record(job), [(file.relative_to(code).as_posix(), code_digest(file)) for file in modules]])


def _record(job: Job) -> dict[str, object]:
    settings = sorted(s.name for s in job.settings if s.effect is Effect.RESULT)
    return {"keys": list(job.keys), "table": job.table, "window_ms": job.window_ms, "settings": settings}


def state_digest(shape: str, topic_id: str) -> str:
    """A version's state digest: the same checkpoint fits when it is equal."""
    return digest([shape, topic_id])


def result_digest(code: str, job: Job, settings: Mapping[str, int]) -> str:
    """A version's result digest: the same log gives the same numbers when it is equal."""
    return digest([code, {s.name: settings[s.name] for s in job.settings if s.effect is Effect.RESULT}])
