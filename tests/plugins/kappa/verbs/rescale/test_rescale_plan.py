"""The plan of a rescale, as a value: unchanged, restart, repartition, and one refusal per cause."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kappa.cluster import Capacity, Host
from kappa.core.checkpoint.repartitionable import UnsupportedOperator, UnsupportedProvider
from kappa.core.job_catalog import JOBS, JobSettingOutOfRange, resolve
from kappa.core.refusals import Refusal
from kappa.core.requests.lifecycle import RescaleRequest
from kappa.core.verb_steps import RescaleStep
from kappa.core.versions import BEGINNING, OPEN_END, Desired, Segment, State, Version
from kappa.verbs.desired import Found
from kappa.verbs.drivers.size import DoesNotFit
from kappa.verbs.rescale.conditions import (
    CountsDisagree,
    NothingAsked,
    NothingToRepartition,
    NotServing,
    StateFacts,
    StatelessJob,
    VersionFailed,
)
from kappa.verbs.rescale.plan import (
    Action,
    RescalePlan,
    decide_rescale,
    expected_pause_seconds,
)
from kappa.verbs.stop.plan import NothingDeployed

ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
STATE = StateFacts(ROCKS, ("stateStoreSave",), 2, 2_000_000, 4_500_000, pending=True)


def a_version(job: str = "ad_ctr", state: State = State.LIVE, **settings: int) -> Version:
    """A version of a job with these settings over its defaults, generation 3."""
    resolved = resolve(JOBS[job], settings)
    return Version(
        job, 1, state, Desired.RUNNING, "code", "s", "r", resolved, "ad_events", "topic-one", None, {}, generation=3
    )


def found(version: Version, running: bool = True) -> Found:
    """The version serves all windows."""
    serves = [Segment(version.job, BEGINNING, OPEN_END, version.version)]
    return Found([version], serves, frozenset({version.version} if running else ()))


def planned(
    partitions: int | None = None,
    cores: int | None = None,
    there: Found | None = None,
    state: StateFacts | None = STATE,
    free_cores: int = 4,
    capacity: Capacity | None = None,
    executors: int | None = None,
) -> RescalePlan:
    """The plan for ad_ctr, whose version runs on 2 cores with 2 partitions; 7 is the next generation."""
    there = there or found(a_version())
    job = there.versions[0].job if there.versions else "ad_ctr"
    capacity = capacity or Capacity((Host(16, free_cores, 8192, 4096),))
    return decide_rescale(RescaleRequest(job, partitions, cores, executors), there, state, capacity, 7)


def test_other_partitions_make_a_new_generation_of_the_checkpoint() -> None:
    plan = planned(partitions=4)
    assert (plan.action, plan.job, plan.version) == (Action.REPARTITION, "ad_ctr", 1)
    assert plan.steps == tuple(RescaleStep)
    assert (plan.old.generation, plan.new.generation) == (3, 7)
    assert plan.new.settings == {**plan.old.settings, "state_partitions": 4}
    assert plan.new.artifact == plan.old.artifact == "code"


def test_other_cores_alone_are_a_restart_on_the_same_checkpoint() -> None:
    plan = planned(cores=3, state=None)
    assert plan.action is Action.RESTART
    assert plan.steps == tuple(step for step in RescaleStep if step is not RescaleStep.REPARTITION)
    assert (plan.old.generation, plan.new.generation) == (3, 3)
    assert plan.new.settings == {**plan.old.settings, "executor_cores": 3}


def test_both_numbers_together_are_one_repartition() -> None:
    plan = planned(partitions=4, cores=4)
    assert plan.action is Action.REPARTITION
    assert (plan.new.settings["state_partitions"], plan.new.settings["executor_cores"]) == (4, 4)


@pytest.mark.parametrize(("partitions", "cores"), [(2, None), (None, 2), (2, 2)])
def test_the_same_numbers_again_are_success_and_nothing_is_done(partitions: int | None, cores: int | None) -> None:
    plan = planned(partitions, cores, state=replace(STATE, provider="HDFSBackedStateStoreProvider"), free_cores=0)
    assert (plan.action, plan.steps, plan.expected_pause_seconds) == (Action.UNCHANGED, (), 0.0)
    assert plan.old == plan.new


@pytest.mark.parametrize("numbers", [{"partitions": 4}, {"cores": 3}])
def test_a_stopped_version_is_rescaled_and_stays_stopped(numbers: dict[str, int]) -> None:
    stopped = found(replace(a_version(), desired=Desired.STOPPED), running=False)
    plan = planned(**numbers, there=stopped)  # type: ignore[arg-type]
    assert plan.steps[-1] is RescaleStep.SWITCH
    assert plan.desired is Desired.STOPPED
    assert plan.expected_pause_seconds == 0.0
    assert "v1 is stopped and stays stopped" in plan.why


def test_the_expected_pause_is_a_restart_and_what_the_state_weighs() -> None:
    assert expected_pause_seconds(Action.RESTART, 2_000_000) == 30.0
    assert expected_pause_seconds(Action.REPARTITION, 2_000_000) == 30.0 + 5.0 + 20.0
    assert expected_pause_seconds(Action.REPARTITION, None) == 35.0
    assert planned(partitions=4).expected_pause_seconds == 55.0


def test_the_rows_show_present_and_wanted_numbers_and_the_state() -> None:
    rows = dict(planned(partitions=4, cores=3).rows())
    assert rows["state partitions"] == "2 -> 4"
    assert rows["executor cores"] == "2 -> 3"
    assert rows["executors"] == "0 -> 0"
    assert rows["takes"] == "2 cores and 768 MB -> 3 cores and 768 MB"
    assert rows["cluster"] == "1 host with 16 cores and 8,192 MB; 6 cores and 4,864 MB are free for it"
    assert rows["state"].startswith("2,000,000 rows, 4.5 MB in 2 partitions of stateStoreSave; a batch is pending")
    assert rows["expected pause"] == "55 s"


def test_a_stateless_job_can_have_other_cores() -> None:
    plan = planned(cores=2, there=found(a_version("quarantine")), state=None)
    assert plan.action is Action.RESTART
    assert dict(plan.rows())["state partitions"] == "none: the job is stateless"


@pytest.mark.parametrize("numbers", [{"partitions": 4}, {"cores": 3}, {"cores": 2}])
def test_a_plan_survives_json(numbers: dict[str, int]) -> None:
    plan = planned(**numbers)  # type: ignore[arg-type]
    assert RescalePlan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def refusal(expected: type[Refusal], **asked: object) -> str:
    """The message of the refusal that the plan ends in; it says that nothing was changed."""
    with pytest.raises(expected) as refused:
        planned(**asked)  # type: ignore[arg-type]
    return str(refused.value)


def test_a_rescale_to_no_number_is_refused() -> None:
    assert "--partitions N --executors N --cores N" in refusal(NothingAsked)


def test_a_job_without_a_version_is_refused() -> None:
    assert "./kappa deploy ad_ctr" in refusal(NothingDeployed, cores=3, there=Found([], []))


def test_a_version_that_gave_up_is_refused_whatever_is_asked() -> None:
    said = refusal(VersionFailed, partitions=2, there=found(a_version(state=State.FAILED)))
    assert "./kappa start ad_ctr" in said


@pytest.mark.parametrize("state", [State.STAGED, State.CATCHING_UP])
def test_a_version_that_another_verb_is_at_work_on_is_refused(state: State) -> None:
    there = Found([a_version(state=state)], [])
    assert f"ad_ctr v1 is {state}" in refusal(NotServing, partitions=4, there=there)


@pytest.mark.parametrize("state", [State.CAUGHT_UP, State.LIVE])
def test_a_version_that_caught_up_or_serves_may_be_rescaled(state: State) -> None:
    assert planned(partitions=4, there=Found([a_version(state=state)], [])).action is Action.REPARTITION


def test_a_stateless_job_has_no_partitions() -> None:
    there = found(a_version("quarantine"))
    assert "quarantine keeps no state" in refusal(StatelessJob, partitions=4, there=there, state=None)


@pytest.mark.parametrize(("asked", "rule"), [({"partitions": 0}, "1 and 64"), ({"cores": 65}, "1 and 64")])
def test_numbers_out_of_the_catalogues_bounds_are_refused(asked: dict[str, int], rule: str) -> None:
    assert rule in refusal(JobSettingOutOfRange, **asked)


def test_a_provider_that_spark_would_stumble_over_is_refused() -> None:
    said = refusal(UnsupportedProvider, partitions=4, state=replace(STATE, provider="a.b.HDFSBacked"))
    assert "a.b.HDFSBacked" in said
    assert "./kappa reprocess ad_ctr --from earliest" in said


def test_an_operator_whose_repartition_was_never_proven_is_refused() -> None:
    operators = ("stateStoreSave", "globalLimit")
    assert "globalLimit" in refusal(UnsupportedOperator, partitions=4, state=replace(STATE, operators=operators))


@pytest.mark.parametrize("state", [None, replace(STATE, operators=())])
def test_a_version_without_state_yet_is_not_repartitioned(state: StateFacts | None) -> None:
    assert "first batch" in refusal(NothingToRepartition, partitions=4, state=state)


def test_a_checkpoint_with_another_number_than_the_registrys_is_refused() -> None:
    said = refusal(CountsDisagree, partitions=4, state=replace(STATE, partitions=5))
    assert "2 state partitions by the registry and 5 by its checkpoint" in said


def test_more_cores_than_the_cluster_has_are_refused_with_both_numbers() -> None:
    said = refusal(DoesNotFit, cores=7, free_cores=4)
    assert "would take 7 cores of the cluster, which has 6 for it" in said
    assert planned(cores=6, free_cores=4).action is Action.RESTART


def test_a_version_without_a_driver_holds_no_cores_of_its_own() -> None:
    gone = found(a_version(), running=False)
    assert "has 4 for it" in refusal(DoesNotFit, cores=5, free_cores=4, there=gone)


def test_with_an_executor_the_driver_takes_a_core_more() -> None:
    there = found(a_version(executors=1))
    assert "would take 8 cores of the cluster, which has 7" in refusal(DoesNotFit, cores=7, there=there)


def test_fewer_cores_need_no_free_ones() -> None:
    assert planned(cores=1, free_cores=0, there=found(a_version(), running=False)).action is Action.RESTART


THREE_HOSTS = Capacity((Host(4, 4, 2048, 2048),) * 3)


def test_other_executors_alone_are_a_restart_on_the_same_checkpoint() -> None:
    plan = planned(executors=2, capacity=THREE_HOSTS)
    assert plan.action is Action.RESTART
    assert plan.new == replace(plan.old, settings={**plan.old.settings, "executors": 2})
    rows = dict(plan.rows())
    assert (rows["executors"], rows["executor cores"]) == ("0 -> 2", "2 -> 2")
    assert rows["takes"] == "2 cores and 768 MB -> 5 cores and 1,536 MB"
    assert rows["cluster"] == "3 hosts with 12 cores and 6,144 MB; 14 cores and 6,912 MB are free for it"


def test_executors_that_no_hosts_could_hold_are_refused_whatever_is_free() -> None:
    """Cores and memory in all would do, but an executor lies on one host."""
    hosts = Capacity((Host(5, 5, 2048, 2048),) * 2)
    said = refusal(DoesNotFit, executors=3, cores=3, capacity=hosts)
    assert "would take 3 executors, of which 2 can be placed: one of 3 cores and 512 MB on one host" in said
