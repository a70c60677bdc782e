"""Look before a rescale: what the version, its checkpoint and the cluster say, and the plan that follows."""

from __future__ import annotations

from kappa.code.known_artifacts import source
from kappa.core.audit import Author, Entry
from kappa.core.checkpoint.reader import checkpoint_of
from kappa.core.job_catalog import find
from kappa.core.refusals import Refusal
from kappa.core.requests.lifecycle import RescaleRequest
from kappa.core.verb_steps import Verb
from kappa.core.versions import Version
from kappa.platform import Platform
from kappa.verbs.observation import found
from kappa.verbs.rescale.conditions import StateFacts
from kappa.verbs.rescale.plan import Action, RescalePlan, decide_rescale

VERB = Verb.RESCALE


class OldArtifact(Refusal):
    """The version runs code from before rescales."""

    def __init__(self, job: str, name: str, artifact: str) -> None:
        super().__init__(
            f"{name} runs artifact {artifact}, which was built before state could be moved: it has no repartition. "
            f"Nothing was changed. Deploy newer code in place first (./kappa deploy {job}), then rescale."
        )


def plan_rescale(platform: Platform, request: RescaleRequest) -> RescalePlan:
    """The plan of a rescale. Changes nothing.

    Raises UnknownJob, what `decide_rescale` raises, OldArtifact, Unreachable, StoreAway.
    """
    there = found(platform, find(request.job).name)
    current = there.current()
    state = state_facts(platform, current) if current else None
    generation = platform.registry.next_generation(request.job, current.version) if current else 1
    plan = decide_rescale(request, there, state, platform.cluster.capacity(), generation)
    _check_artifact(platform, plan)
    return plan


def _check_artifact(platform: Platform, plan: RescalePlan) -> None:
    """The version's own code moves its state, for only that can finish a batch that is pending. Raises OldArtifact,
    StoreAway."""
    if plan.action is not Action.REPARTITION:
        return
    if source(platform.settings, plan.old.artifact, "jobs/repartition.py") is None:
        raise OldArtifact(plan.job, f"{plan.job} v{plan.version}", plan.old.artifact)


def state_facts(platform: Platform, version: Version) -> StateFacts | None:
    """What lies in the version's checkpoint; None for a job without state, or before its first batch."""
    checkpoint = checkpoint_of(platform.settings, version)
    if not find(version.job).stateful or checkpoint.newest_planned() is None:
        return None
    facts = checkpoint.facts()
    rows = platform.registry.health(version.job, version.version).state_rows
    return StateFacts(
        facts.provider, facts.operators, facts.state_partitions, rows, facts.bytes, checkpoint.is_pending()
    )


_WOULD = {
    Action.UNCHANGED: "stay as it is, for it has this size already",
    Action.RESTART: "be restarted, its state as it is",
    Action.REPARTITION: "be restarted, its state in other partitions",
}


def dry_sentence(plan: RescalePlan) -> str:
    """What a dry run found, in one sentence."""
    steps = f" ({' -> '.join(plan.steps)})" if plan.steps else ""
    return f"dry run: {plan.job} v{plan.version} would {_WOULD[plan.action]}{steps}; nothing was changed."


def unchanged(platform: Platform, plan: RescalePlan, by: Author) -> str:
    """Write down and say that a rescale to the present size did nothing."""
    sentence = f"{plan.job} v{plan.version} has this size already; nothing was changed."
    evidence = {"sentence": sentence, "plan": plan.to_json()}
    platform.registry.record(Entry(by, f"{VERB}.done", plan.job, plan.version, evidence))
    return sentence
