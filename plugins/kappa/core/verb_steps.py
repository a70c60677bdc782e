"""The verbs of an operator, and the steps of each in the order in which they run.

A step is one thing with one name: a task of the verb's DAG, a word of the printed plan, a call of a run without
Airflow. `told` is the word that the audit has for it, as `verb.told`; a step without one leaves nothing there.
"""

from __future__ import annotations

from enum import StrEnum


class Verb(StrEnum):
    """What an operator can ask for."""

    DEPLOY = "deploy"
    STOP = "stop"
    RESCALE = "rescale"
    AUTOSCALE = "autoscale"
    REPAIR = "repair"
    REPROCESS = "reprocess"
    PROVE = "prove"
    PROMOTE = "promote"
    ROLLBACK = "rollback"
    RETIRE = "retire"
    VALIDATE = "validate"

    @property
    def dag_id(self) -> str:
        """The DAG that does it."""
        return _DAGS.get(self, f"{self}_stream")

    @property
    def meaning(self) -> str:
        """What it does, in a few words."""
        return _MEANINGS[self]


_MEANINGS = {
    Verb.DEPLOY: "start jobs, or give running ones new code or settings in place",
    Verb.STOP: "stop jobs until they are started again",
    Verb.RESCALE: "give a job other partitions, cores or executors, its state kept",
    Verb.AUTOSCALE: "rescale by the advice, within the bounds of the settings",
    Verb.REPAIR: "compare what should run with what does, and mend it",
    Verb.REPROCESS: "compute jobs anew from the log beside the live versions, and promote them once approved",
    Verb.PROVE: "compute what is served anew from the log, and say whether it is equal",
    Verb.PROMOTE: "let validated candidates serve, by hand",
    Verb.ROLLBACK: "take the newest release back: what served before serves again",
    Verb.RETIRE: "delete the rows and state of versions that nobody needs any more",
    Verb.VALIDATE: "hold what is served against what every version must show",
}
_DAGS = {Verb.PROVE: "prove_replay", Verb.RETIRE: "retire_versions", Verb.VALIDATE: "validate_live"}

CONCLUDE = "conclude"
AROUND = ("lease", "plan", "choose", "settle", CONCLUDE, "release")
"""Tasks that are no steps: they hold the job, plan, choose what of the plan is done, and say how it ended."""


class Step(StrEnum):
    """The steps of one verb, in order."""

    told: str

    def __new__(cls, name: str, told: str = "") -> Step:
        """A step called `name`, which the audit tells as `told`."""
        step = str.__new__(cls, name)
        step._value_, step.told = name, told
        return step

    def action(self, verb: str) -> str:
        """What the audit calls it, in a run of that verb."""
        return f"{verb}.{self.told}"


class DeployStep(Step):
    """Of a deployment: a first one up to LIVE, or the restart of a driver, which has no STAGE; and a change in place
    from BEGIN on. One DAG has both, so a step of the second whose name the first has says that it is of the new code.
    """

    STAGE = "stage"
    LAUNCH = "launch", "launched"
    READY = "ready"
    LIVE = "live", "live"
    BEGIN = "begin", "change_begun"
    TRIAL = "trial"
    STANDBY = "standby", "standby"
    HOLD = "hold"
    SWITCH = "switch"
    LAUNCH_NEW = "launch_new", "launched"
    READY_NEW = "ready_new"


class RescaleStep(Step):
    """Of a rescale; the repartition is prepared beside STANDBY and done once the driver has ended."""

    BEGIN = "begin", DeployStep.BEGIN.told
    STANDBY = "standby", DeployStep.STANDBY.told
    HOLD = "hold"
    REPARTITION = "repartition"
    SWITCH = "switch"
    LAUNCH = "launch", DeployStep.LAUNCH_NEW.told
    READY = "ready"


class ReplayStep(Step):
    """Of a replay, to be promoted or as a proof."""

    STAGE = "stage"
    CATCH_UP = "catch_up", "caught_up"
    VALIDATE = "validate", "validated"
    APPROVE = "approve"
    PROMOTE = "promote"


class MoveStep(Step):
    """Of a promotion or a roll-back by hand."""

    CATCH_UP = "catch_up", "caught_up"
    HAND_OVER = "hand_over"


class StopStep(Step):
    """Of a stop."""

    REQUEST = "request"
    WAIT = "wait"
