"""What a change is: fingerprints of code and settings that tell a change of results or of state from any
other."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from kappa.core.artifact_files import digest
from kappa.core.job_catalog import JOBS, Effect, Job

PART_LENGTH = 8
LONGEST_VALUE = 24
"""A constant up to this length is named by its value, which says more than a digest."""
STATEFUL_MODULES = ("jobs/transforms/windows.py",)
"""What a window keeps: the set of its events, and what an element of that is."""
RESULT_MODULES = (
    "jobs/schemas.py", "jobs/sources.py", "jobs/session.py",
    "plugins/kappa/core/fates.py", "plugins/kappa/core/measures.py",
)  # fmt: skip
"""Beside transforms and pipelines: which records a query is given, and how Spark is set that computes with them."""
ENVIRONMENT = "environment: "
"""How the parts call a package that decides numbers."""
MODULES = 256
"""How many modules' digests are kept: each job asks for those that the jobs share, by their text."""
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def code_digest(file: Path) -> str | None:
    """The fingerprint of what a module does: comments, layout and docstrings do not count; None if there
    is none."""
    return _code(file.read_text()) if file.exists() else None


@lru_cache(MODULES)
def _code(text: str) -> str:
    return digest(ast.unparse(_undocumented(text)))


def _undocumented(text: str) -> ast.Module:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, Documented) and _is_docstring(node.body):
            node.body = node.body[1:]
    return tree


def _is_docstring(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)


def state_shape(code: Path, job: Job) -> str:
    """The fingerprint of what a job's checkpoint holds: operators in order, keys, window, the set.

    `code` is a checkout or an artifact. The set and its element are the code of its stateful modules.
    """
    operators = [code_digest(code / name) for name in STATEFUL_MODULES] if job.stateful else []
    return digest(
        {"operators": operators, "keys": list(job.keys), "window_ms": job.window_ms if job.stateful else None}
    )


def result_code(code: Path, job: Job, versions: Mapping[str, str]) -> str:
    """The fingerprint of all that can change a number of the job between the log and the aggregate: the code, and the
    versions of the packages that it runs on.

    What jobs' pipelines share is in it, the other pipeline, tuning settings and descriptions are not.
    """
    files = [(file.relative_to(code).as_posix(), code_digest(file)) for file in _result_modules(code, job)]
    return digest([_record(job), files, dict(versions)])


def parts(code: Path, job: Job, versions: Mapping[str, str]) -> dict[str, str]:
    """What the two fingerprints are made of, by name, so that a difference can be named.

    The catalogue's words as they are; of the code, `module: definition` to that definition's short digest or value;
    packages as `environment: package` to the version.
    """
    named = {"keys": ", ".join(job.keys) or "none", "window": f"{job.window_ms} ms", "table": job.table}
    named["settings that change results"] = ", ".join(_result_settings(job)) or "none"
    for file in _result_modules(code, job):
        path = file.relative_to(code).as_posix()
        named |= {f"{path}: {name}": short for name, short in definitions(file).items()}
    return named | {f"{ENVIRONMENT}{package}": version for package, version in versions.items()}


def definitions(file: Path) -> dict[str, str]:
    """A module's definitions to their short digests, short constants to their values; what defines nothing stands
    under `other statements`."""
    return dict(_definitions(file.read_text())) if file.exists() else {}


@lru_cache(MODULES)
def _definitions(text: str) -> Mapping[str, str]:
    found: dict[str, list[ast.stmt]] = {}
    for statement in _undocumented(text).body:
        found.setdefault(_defined(statement), []).append(statement)
    return {name: _shown(statements) for name, statements in found.items()}


def _shown(statements: list[ast.stmt]) -> str:
    first = statements[0]
    if len(statements) == 1 and isinstance(first, ast.Assign) and len(ast.unparse(first.value)) <= LONGEST_VALUE:
        return ast.unparse(first.value)
    return digest([ast.unparse(statement) for statement in statements])[:PART_LENGTH]


def _defined(statement: ast.stmt) -> str:
    if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return statement.name
    if isinstance(statement, ast.Assign):
        return ", ".join(ast.unparse(target) for target in statement.targets)
    return ast.unparse(statement.target) if isinstance(statement, ast.AnnAssign) else "other statements"


def _result_modules(code: Path, job: Job) -> list[Path]:
    others = {other.pipeline for other in JOBS.values()} - {job.pipeline}
    pipelines = [file for file in sorted((code / "jobs/pipelines").glob("*.py")) if file.stem not in others]
    return sorted((code / "jobs/transforms").glob("*.py")) + [code / name for name in RESULT_MODULES] + pipelines


def _record(job: Job) -> dict[str, object]:
    keys, settings = list(job.keys), _result_settings(job)
    return {"keys": keys, "table": job.table, "window_ms": job.window_ms, "settings": settings}


def _result_settings(job: Job) -> list[str]:
    return sorted(s.name for s in job.settings if s.effect is Effect.RESULT)


def state_digest(shape: str, topic_id: str) -> str:
    """A version's state digest: the same checkpoint fits when it is equal."""
    return digest([shape, topic_id])


def result_digest(code: str, job: Job, settings: Mapping[str, int]) -> str:
    """A version's result digest: the same log gives the same numbers when it is equal."""
    return digest([code, {s.name: settings[s.name] for s in job.settings if s.effect is Effect.RESULT}])
