"""One rule for all jobs: settings that change results are equal in all versions that serve (contract, section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kappa.core.job_catalog import Effect, find
from kappa.core.refusals import Refusal


@dataclass(frozen=True)
class Ruled:
    """A version that serves, or would serve, and its settings."""

    version: int
    settings: Mapping[str, int]


Serving = Mapping[str, Ruled]
"""Versions by job."""
NOBODY: Serving = {}


class OtherRules(Refusal):
    """A verb would let jobs count and bill by different rules."""

    def __init__(self, verb: str, moved: Serving, serving: Serving, parted: Mapping[str, Mapping[str, int]]) -> None:
        lines = [("job", "version", "setting", "value")]
        for name, values in parted.items():
            lines += [(job, f"v{serving[job].version}", name, str(value)) for job, value in values.items()]
        widths = [max(len(line[column]) for line in lines) for column in range(4)]
        table = "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)
        jobs = sorted({job for values in parted.values() for job in values})
        wanted = {name: next(value for job, value in values.items() if job in moved) for name, values in parted.items()}
        given = " ".join(f"--set {name}={value}" for name, value in wanted.items())
        super().__init__(
            f"one rule counts and bills in all jobs, and after {verb} of {', '.join(sorted(moved))} these would "
            f"differ; nothing was changed.\n{table}\nChange them together: ./kappa reprocess {' '.join(jobs)} --from "
            f"earliest {given} --parity report (a job that does not serve yet: ./kappa deploy JOB {given}); or give "
            "what is asked for the values that the others have."
        )


def check_one_rule(verb: str, moved: Serving, beside: Serving) -> None:
    """Pass where the versions that the verb lets serve agree with each other and with those that serve beside them.

    Raises OtherRules.
    """
    serving = {**beside, **moved}
    deciding = {job: _deciding(job) for job in sorted(serving)}
    parted = {}
    for name in sorted({name for defaults in deciding.values() for name in defaults}):
        values = {
            job: serving[job].settings.get(name, defaults[name])
            for job, defaults in deciding.items()
            if name in defaults
        }
        if len(set(values.values())) > 1 and values.keys() & moved.keys():
            parted[name] = values
    if parted:
        raise OtherRules(verb, moved, serving, parted)


def sharing(settings: Mapping[str, object], job: str, beside: Serving) -> list[str]:
    """The job and those beside it that have one of these settings too, and whose results it changes."""
    return sorted({job, *(other for other in beside if settings.keys() & _deciding(other).keys())})


def _deciding(job: str) -> dict[str, int]:
    """The settings that change the job's results, by name to the default: a version that is older than a setting has
    it as by default."""
    return {setting.name: setting.default for setting in find(job).settings if setting.effect is Effect.RESULT}
