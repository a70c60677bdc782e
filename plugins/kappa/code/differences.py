"""What differs between what a version runs as and what is wanted of it, by name, and why that matters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from kappa.code.digests import ENVIRONMENT, STATEFUL_MODULES
from kappa.core.job_catalog import STATE_PARTITIONS, Effect, Job
from kappa.core.serialization import Serializable

NONE, UNSAID = "none", "unknown"
LABELS: Mapping[str, str] = {
    "jobs/transforms/windows.py: element": "element of the set",
    "jobs/transforms/windows.py: counted": "grouping",
    "jobs/transforms/fold.py: count": "what is counted of the set",
    "jobs/transforms/fold.py: _totals": "how the set is added up",
    "jobs/transforms/fold.py: _first_of_each": "which of the set counts",
    "plugins/kappa/core/measures.py: MEASURES": "order of the measures",
    "jobs/transforms/fates.py: fates_of": "fates",
}
"""What the definitions are for whose change is a danger; all others go by their own name."""

_SETS = "the checkpoint's sets would be read as those of other groups; Spark would not notice"
_RESULTS = "the same log gives other numbers; windows under way would mix old and new"
_TUNES = "it only tunes: no number changes"
_STATE_CODE = "the checkpoint holds what the old code put there; Spark compares only its types"
_WHY: Mapping[str, str] = {
    "keys": "one key's sums would be read as another's; Spark compares types, not names",
    "window": "sums of old windows would be read as those of new ones; Spark would not notice",
    "table": "the old rows stay in another table; changed windows would miss them",
    "jobs/transforms/windows.py: element": "old and new elements never match: duplicates would count twice, silently",
    "jobs/transforms/windows.py: counted": _SETS,
    "click_interval_ms": "the checkpoint's clicks are numbered by the old interval; Spark would mix the two",
    "allowed_lateness_ms": "the same record gets another fate; windows under way would mix old and new",
    "future_bound_ms": "the same record gets another fate; windows under way would mix old and new",
    STATE_PARTITIONS: "the checkpoint fixes it; Spark would silently keep the old number",
    "topic id": "offsets and state belong to the records of another topic",
    "state digest": _STATE_CODE,
    "result digest": _RESULTS,
}


@dataclass(frozen=True)
class Difference(Serializable):
    """One thing that differs: what, how it was, how it would be, and why that matters."""

    what: str
    old: str
    new: str
    why: str


@dataclass(frozen=True)
class Parts:
    """What the code of both sides is made of (`digests.parts`); empty where that is not known."""

    old: Mapping[str, str] = field(default_factory=dict)
    new: Mapping[str, str] = field(default_factory=dict)


UNKNOWN = Parts()


class Compared(Protocol):
    """One side: a version as it runs, or what is wanted of it."""

    @property
    def artifact(self) -> str:
        """Digest of the code."""

    @property
    def settings(self) -> Mapping[str, int]:
        """All resolved settings."""

    @property
    def topic_id(self) -> str:
        """The topic that is read."""

    @property
    def state_digest(self) -> str:
        """Which checkpoint fits."""

    @property
    def result_digest(self) -> str:
        """Which numbers the log gives."""


def forbidden(job: Job, old: Compared, new: Compared, parts: Parts) -> tuple[Difference, ...]:
    """What makes another checkpoint or other numbers of the job; empty when both digests are equal."""
    if (old.state_digest, old.result_digest) == (new.state_digest, new.result_digest):
        return ()
    topic = _between({"topic id": old.topic_id}, {"topic id": new.topic_id}, _RESULTS)
    code = _code(job, parts)
    results = code + differing_settings(job, old, new, Effect.RESULT)
    explained = {"state digest": bool(topic or [d for d in code if _of_state(d.what)]), "result digest": bool(results)}
    before = {"state digest": old.state_digest, "result digest": old.result_digest}
    after = {"state digest": new.state_digest, "result digest": new.result_digest}
    unnamed = tuple(d for d in _between(before, after, _RESULTS) if not explained[d.what])
    return unnamed + topic + tuple(_labelled(d) for d in results)


def _code(job: Job, parts: Parts) -> tuple[Difference, ...]:
    """What differs in code and catalogue; nothing can be named where one side's parts are not known."""
    if not (parts.old and parts.new):
        return ()
    found = _between(parts.old, parts.new, _RESULTS)
    return found if job.stateful else tuple(replace(d, why=_RESULTS) for d in found)


def differing_settings(job: Job, old: Compared, new: Compared, effect: Effect) -> tuple[Difference, ...]:
    """The settings of one effect that differ. One that the old version never had, and that is wanted as it is by
    default, differs only with the code that asks for it."""
    asked = {
        s.name: str(new.settings[s.name])
        for s in job.settings
        if s.effect is effect
        and (s.name in old.settings or old.artifact != new.artifact or new.settings[s.name] != s.default)
    }
    why = _TUNES if effect is Effect.TUNING else _RESULTS
    return _between({name: str(old.settings.get(name, NONE)) for name in asked}, asked, why)


def tuned(job: Job, old: Compared, new: Compared) -> tuple[Difference, ...]:
    """What may differ in place: the artifact, and settings that only tune."""
    why = "the same checkpoint fits and the same numbers come out: both digests are equal"
    code = () if old.artifact == new.artifact else (Difference("artifact", old.artifact, new.artifact, why),)
    return code + tuple(d for d in differing_settings(job, old, new, Effect.TUNING) if d.what != STATE_PARTITIONS)


def repartitioned(job: Job, old: Compared, new: Compared) -> tuple[Difference, ...]:
    """The number of state partitions, where it differs."""
    return tuple(d for d in differing_settings(job, old, new, Effect.TUNING) if d.what == STATE_PARTITIONS)


def table(differences: tuple[Difference, ...]) -> str:
    """Differences for people: a line of what, old and new in columns, and below each why it matters."""
    lines = [("what", "old", "new"), *((d.what, d.old, d.new) for d in differences)]
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    shown = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([shown[0], *(f"{line}\n    {d.why}" for line, d in zip(shown[1:], differences, strict=True))])


def _between(old: Mapping[str, str], new: Mapping[str, str], otherwise: str) -> tuple[Difference, ...]:
    names = list(dict.fromkeys([*new, *old]))
    pairs = [(name, old.get(name, _absent(name)), new.get(name, _absent(name))) for name in names]
    return tuple(Difference(name, was, would, _why(name, otherwise)) for name, was, would in pairs if was != would)


def _absent(name: str) -> str:
    """How a side is called that does not have it; an artifact from before packages were kept had them all the same."""
    return UNSAID if name.startswith(ENVIRONMENT) else NONE


def _why(name: str, otherwise: str) -> str:
    return _WHY.get(name, _STATE_CODE if _of_state(name) else otherwise)


def _of_state(name: str) -> bool:
    return name in ("keys", "window") or name.split(":")[0] in STATEFUL_MODULES


def _labelled(difference: Difference) -> Difference:
    label = LABELS.get(difference.what)
    return replace(difference, what=f"{label} ({difference.what})") if label else difference
