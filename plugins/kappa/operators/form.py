"""The forms of the lifecycle DAGs, and how a filled-in form is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import Param

from jobs.catalog import JOBS
from jobs.refusals import Refusal
from kappa.plans.start_point import EARLIEST, START_PATTERN
from kappa.steps.observe import DeployRequest


class UnreadableSettings(Refusal):
    """A line of the settings field is not KEY=VALUE."""

    def __init__(self, line: str) -> None:
        super().__init__(f"settings: '{line}' is not KEY=VALUE. Give one such line a setting; nothing was changed.")


def job() -> Param:
    """Which job."""
    names = list(JOBS)
    return Param(names[0], type="string", enum=names, title="Job", description="Which **job** of the catalogue")


def reason() -> Param:
    """Why, for the audit."""
    return Param("", type="string", maxLength=1000, title="Reason", description="Why; kept in the audit")


def dry_run() -> Param:
    """Whether to stop after the plan."""
    return Param(False, type="boolean", title="Dry run", description="Print the plan and change nothing")


def deploy() -> dict[str, Param]:
    """The form of `deploy_stream`."""
    return {
        "job": job(),
        "artifact": Param(
            "", type="string", pattern="^[0-9a-f]{0,16}$", title="Artifact",
            description="Digest of the code, as `./kappa build --list` shows it; empty: the newest one",
        ),
        "start": Param(
            EARLIEST, type="string", pattern=START_PATTERN, title="Start",
            description="Where a first version starts: `earliest`, `latest`, or like 2026-01-31T09:30Z",
        ),
        "settings": Param(
            {}, type=["object", "string"], title="Settings", section="Settings",
            description="Settings that differ: an object, or KEY=VALUE lines; the others stay as they are",
        ),
        "reason": reason(),
        "dry_run": dry_run(),
    }  # fmt: skip


def stop() -> dict[str, Param]:
    """The form of `stop_stream`."""
    return {"job": job(), "reason": reason(), "dry_run": dry_run()}


def deploy_request(params: Mapping[str, Any]) -> DeployRequest:
    """What a filled-in form asks for. Raises UnreadableSettings."""
    return DeployRequest(params["job"], params["start"], params["artifact"], settings(params["settings"]))


def settings(given: Mapping[str, Any] | str) -> dict[str, int | str]:
    """Settings given as an object or as KEY=VALUE lines. Raises UnreadableSettings."""
    if not isinstance(given, str):
        return {str(name): str(value) for name, value in given.items()}
    return dict(_pair(line) for line in given.splitlines() if line.strip())


def _pair(line: str) -> tuple[str, str]:
    name, equals, value = (part.strip() for part in line.partition("="))
    if not (name and equals and value):
        raise UnreadableSettings(line)
    return name, value
