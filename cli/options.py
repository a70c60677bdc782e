"""The options that lifecycle commands share, and how a reason and a version are given."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from kappa.core.refusals import Refusal
from kappa.core.requests.fields import Field, Request, declared
from kappa.core.requests.lifecycle import StopRequest


def version_number(given: str) -> int:
    """The number of a version that is written like 2 or v2."""
    number = given.removeprefix("v")
    if not (number.isascii() and number.isdecimal()):
        raise typer.BadParameter(f"{given}: give a version like 2 or v2")
    return int(number)


def option(request: type[Request], name: str, *flags: str, **given: Any) -> Any:
    """The option for a field of a request: its range and meaning; `given` is of the command alone."""
    return typer.Option(*flags, **(_told(declared(request)[name]) | given))


def argument(request: type[Request], name: str, **given: Any) -> Any:
    """The argument for a field of a request, as `option`."""
    return typer.Argument(**(_told(declared(request)[name]) | given))


def _told(field: Field) -> dict[str, Any]:
    bounds = {} if field.kind is not int else {"min": field.rule.least, "max": field.rule.most, "metavar": "N"}
    return {"help": f"{field.rule.meaning}.", **bounds}


Jobs = Annotated[list[str], typer.Argument(metavar="JOB...", help="Jobs of the catalogue.")]
Reason = Annotated[str | None, option(StopRequest, "reason")]
DryRun = Annotated[bool, option(StopRequest, "dry_run", "--dry-run")]
Json = Annotated[bool, typer.Option("--json", help="For machines, on stdout.")]
InPlace = Annotated[bool, typer.Option("--without-airflow", help="The same plan and steps, in place.")]
Wait = Annotated[bool, typer.Option("--wait", help="Where another run holds the job: wait, instead of being refused.")]
VersionNumber = Annotated[
    int, typer.Argument(metavar="VERSION", parser=version_number, help="Its number, like 2 or v2.")
]


def reason_or_asked(given: str | None) -> str | None:
    """The reason; asked for on a terminal when it is missing, and may stay empty."""
    if given is None and sys.stdin.isatty():
        answer: str = typer.prompt("Reason (kept in the audit)", default="", show_default=False, err=True)
        return answer or None
    return given


class NoReason(Refusal):
    """What moves readers was asked for without a reason."""

    def __init__(self, verb: str) -> None:
        super().__init__(
            f"{verb} needs a reason, for it is kept with what it did; nothing was changed. Say why: --reason TEXT."
        )


def reason_required(verb: str, given: str | None) -> str:
    """The reason; asked for on a terminal when it is missing. Raises NoReason."""
    reason = (reason_or_asked(given) or "").strip()
    if not reason:
        raise NoReason(verb)
    return reason
