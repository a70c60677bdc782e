"""The forms of replays, promotions, roll-backs and retirements, and how a filled-in form is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow.sdk import Param

from kappa.airflow.forms import dry_run, labels, number, reason, settings
from kappa.code.artifacts import Artifact
from kappa.core.catalog import JOBS
from kappa.core.replays import Approval
from kappa.core.validation import Parity
from kappa.verbs.replay.bands import read
from kappa.verbs.replay.candidate import LEAST_RATE, ReprocessRequest
from kappa.verbs.start_point import EARLIEST

FROM_PATTERN = r"^(earliest|\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:00(\.0+)?)?(Z|[+-]\d{2}:?\d{2}))$"
BAND_PATTERN = r"^\s*[a-z_]+:(up|down|any)(:[0-9]+)?\s*$"
MOST_RATE = 5_000_000
SPAN_MINUTES = 360
PROVING_CORES = 1
"""Of each candidate: nobody waits for a proof, and beside the live jobs of one machine there is no room for more."""
MOST_SPAN_MINUTES = 7 * 24 * 60
WINDOWED = [name for name, job in JOBS.items() if job.stateful]


def jobs(chosen: Sequence[str], description: str) -> Param:
    """Which jobs."""
    items = {"type": "string", "enum": list(JOBS)}
    return Param(
        list(chosen), type="array", items=items, minItems=1, uniqueItems=True, examples=list(JOBS), title="Jobs",
        description=description,
    )  # fmt: skip


def reprocess(offered: Sequence[Artifact] = ()) -> dict[str, Param]:
    """The form of `reprocess_stream`, which offers the artifacts that are known."""
    return {
        "jobs": jobs(WINDOWED[:1], "Which jobs; several are promoted together or not at all"),
        "start": Param(
            EARLIEST, type="string", pattern=FROM_PATTERN, title="From",
            description="T, the first window that is replayed: `earliest`, or a full minute like 2026-01-31T09:30Z",
        ),
        "artifact": Param(
            None, type=["null", "string"], pattern="^[0-9a-f]{0,16}$", title="Artifact",
            examples=[*(artifact.digest for artifact in offered)], values_display=labels(offered),
            description="Digest of the code, as `./kappa build --list` shows it; empty: the newest one",
        ),
        "settings": Param(
            {}, type=["object", "string"], title="Settings",
            description="Settings that differ: an object, or KEY=VALUE lines; the others stay as the live version's",
        ),
        "parity": Param(
            Parity.EXACT.value, type="string", enum=[parity.value for parity in Parity], title="Parity",
            values_display={
                Parity.EXACT.value: "Exact: the same rows",
                Parity.DECLARED.value: "Declared: only the bands may differ",
                Parity.REPORT.value: "Report: differences are listed",
            },
            description="What the comparison with the live version must show",
        ),
        "bands": Param(
            [], type="array", items={"type": "string", "pattern": BAND_PATTERN}, title="Bands",
            description="Under declared parity, one a line: COLUMN:up|down|any, or COLUMN:DIRECTION:N with at most N "
            "thousandths of the live value, like clicks:down:50",
        ),
        "approval": Param(
            None, type=["null", "string"], enum=[None, *(approval.value for approval in Approval)], title="Approval",
            description="Whether somebody is asked before the promotion; empty: as the jobs' policy says. Only `ask` "
            "may differ from it",
        ),
        **_work(),
        "reason": reason(),
        "dry_run": dry_run(),
    }  # fmt: skip


def prove() -> dict[str, Param]:
    """The form of `prove_replay`; the scheduled runs take it as it is."""
    return {
        "jobs": jobs(WINDOWED, "Which jobs are replayed and compared"),
        "minutes": Param(
            SPAN_MINUTES, type="integer", minimum=1, maximum=MOST_SPAN_MINUTES, title="Span",
            description="How many minutes of windows are compared, up to the newest one that is final",
        ),
        "promote": Param(
            False, type="boolean", title="Promote",
            description="If they are equal, let the candidates serve, as the jobs' policy says; else throw them away",
        ),
        **_work(PROVING_CORES),
        "reason": Param(
            "proof on schedule", type="string", maxLength=1000, title="Reason", description="Why; kept in the audit"
        ),
        "dry_run": dry_run(),
    }  # fmt: skip


def reprocess_request(params: Mapping[str, Any]) -> ReprocessRequest:
    """What a filled-in form asks for. Raises UnreadableSettings, InvalidBand."""
    return ReprocessRequest(
        jobs=tuple(params["jobs"]),
        start=params["start"],
        artifact=params["artifact"] or "",
        settings=settings(params["settings"]),
        parity=Parity(params["parity"]),
        bands=tuple(read(band) for band in params["bands"]),
        approval=Approval(params["approval"]) if params["approval"] else None,
        cores=params["cores"],
        rate=params["rate"],
        reason=params["reason"] or None,
    )


def prove_request(params: Mapping[str, Any], start: str) -> ReprocessRequest:
    """What a filled-in form of a proof asks for, from this start on."""
    return ReprocessRequest(
        jobs=tuple(params["jobs"]),
        start=start,
        cores=params["cores"],
        rate=params["rate"],
        reason=params["reason"] or None,
        promote=params["promote"],
    )


def _work(cores: int | None = None) -> dict[str, Param]:
    return {
        "cores": number("executor_cores", "Cores", "Cores of each candidate; empty: as the live version has", cores),
        "rate": Param(
            None, type=["null", "integer"], minimum=LEAST_RATE, maximum=MOST_RATE, title="Read rate",
            description="Most records a second that each candidate reads; empty: as its settings say",
        ),
    }  # fmt: skip
