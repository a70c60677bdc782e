"""The plan of a change in place, as a value: what may change so, and the refusal of what may not."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kappa.code import artifacts
from kappa.code.differences import LABELS, Difference, table
from kappa.core import environment
from kappa.core.audit import Author
from kappa.core.changes import RunsAs
from kappa.core.job_catalog import JOBS
from kappa.core.requests.lifecycle import DeployRequest
from kappa.core.verb_steps import DeployStep
from kappa.core.versions import Desired, State
from kappa.verbs.deploy import steps as deploy
from kappa.verbs.deploy.observation import plan_deploy, plan_start
from kappa.verbs.deploy.plan import Action, DeployPlan, DeployRefused, refuse_if_refused
from tests.plugins.conftest import Stage

ROOT = Path(__file__).parents[5]
AD_CTR = DeployRequest("ad_ctr")
FOLD = "jobs/transforms/fold.py"
WINDOWS, FATES = "jobs/transforms/windows.py", "jobs/transforms/fates.py"
MEASURES = "plugins/kappa/core/measures.py"


@pytest.fixture
def live(stage: Stage, author: Author) -> Stage:
    """The first version of ad_ctr serves, from the project's own jobs folder."""
    stage.take_own_code()
    stage.clock.sleep(1)
    first = plan_deploy(stage.platform, DeployRequest("ad_ctr", artifact=stage.build()))
    deploy.carry_out(stage.platform, first, author, lambda _: None)
    return stage


def planned(live: Stage, path: str, old: str, new: str) -> DeployPlan:
    """The plan of deploying the checkout after one edit, which must have found something once."""
    assert (live.checkout / path).read_text().count(old) == 1
    live.change(path, old, new)
    live.clock.sleep(1)
    return plan_deploy(live.platform, DeployRequest("ad_ctr", artifact=live.build()))


def forget_parts(manifest: Path) -> None:
    """Make the manifest one of the time when parts were not kept."""
    held = json.loads(manifest.read_text())
    for code in held["jobs"].values():
        del code["parts"]
    manifest.chmod(0o644)
    manifest.write_text(json.dumps(held))


def check_refused(plan: DeployPlan, what: str, why: str) -> None:
    """The plan says no, and its refusal names the difference, why it matters and the command."""
    assert plan.action is Action.REFUSED
    assert plan.steps == ()
    assert (what, True) in [(d.what, why in d.why) for d in plan.differences]
    with pytest.raises(DeployRefused) as refused:
        refuse_if_refused(plan)
    command = f"./kappa reprocess ad_ctr --from earliest --artifact {plan.wanted.artifact}."
    assert all(said in str(refused.value) for said in (what, why, command, "v1 is as it was"))
    assert any(name == "differs" and what in text for name, text in plan.rows())


def test_what_arrived_swapped_is_refused(live: Stage) -> None:
    plan = planned(live, FOLD, "_totals(row, cost, ~is_click, is_click,", "_totals(row, cost, is_click, ~is_click,")
    what = "what is counted of the set (jobs/transforms/fold.py: count)"
    check_refused(plan, what, "windows under way would mix old and new")


def test_measures_in_another_order_are_refused(live: Stage) -> None:
    plan = planned(live, MEASURES, '"seen_impressions",\n    "seen_clicks",', '"seen_clicks",\n    "seen_impressions",')
    what = "order of the measures (plugins/kappa/core/measures.py: MEASURES)"
    check_refused(plan, what, "windows under way would mix old and new")


def test_a_key_replaced_by_one_of_the_same_type_is_refused(live: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(JOBS, "ad_ctr", replace(JOBS["ad_ctr"], keys=("client_id", "user_id")))
    plan = planned(
        live, "plugins/kappa/core/job_catalog.py", 'keys=("client_id", "ad_id")', 'keys=("client_id", "user_id")'
    )
    check_refused(plan, "keys", "Spark compares types, not names")
    assert ("client_id, ad_id", "client_id, user_id") in [(d.old, d.new) for d in plan.differences]


def test_another_window_is_refused(live: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(JOBS, "ad_ctr", replace(JOBS["ad_ctr"], window_ms=300_000))
    plan = planned(live, "plugins/kappa/core/job_catalog.py", "window_ms: int = MINUTE_MS", "window_ms: int = 300_000")
    check_refused(plan, "window", "Spark would not notice")
    assert ("60000 ms", "300000 ms") in [(d.old, d.new) for d in plan.differences]


def test_another_element_of_the_set_is_refused(live: Stage) -> None:
    plan = planned(live, WINDOWS, 'F.col("user_id").cast("binary")', 'F.col("slot_id").cast("binary")')
    check_refused(plan, "element of the set (jobs/transforms/windows.py: element)", "duplicates would count twice")


EXPRESSIONS = [
    (FOLD, "np.bincount(row[clicked]", "2 * np.bincount(row[clicked]",
     "how the set is added up (jobs/transforms/fold.py: _totals)"),
    (FOLD, "np.lexsort((offset, identity))", "np.lexsort((-offset, identity))",
     "which of the set counts (jobs/transforms/fold.py: _first_of_each)"),
    ("jobs/transforms/decode.py", "pa.array([e.cost_micros for e in events]",
     "pa.array([2 * e.cost_micros for e in events]", "jobs/transforms/decode.py: _fields"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "old", "new", "what"), EXPRESSIONS)
def test_another_expression_of_the_same_shape_is_refused(live: Stage, path: str, old: str, new: str, what: str) -> None:
    check_refused(planned(live, path, old, new), what, "old")


def test_another_fate_limit_is_refused_as_code_and_as_setting(live: Stage) -> None:
    asked = DeployRequest("ad_ctr", settings={"allowed_lateness_ms": 60_000, "cadence_ms": 7})
    plan = plan_deploy(live.platform, asked)
    shown = [(d.what, d.old, d.new) for d in plan.differences]
    assert shown == [("allowed_lateness_ms", "7200000", "60000"), ("cadence_ms", "500", "7")]
    assert "another fate" in plan.differences[0].why
    with pytest.raises(DeployRefused, match="reprocess ad_ctr --from earliest --set allowed_lateness_ms=60000\\."):
        refuse_if_refused(plan)
    limit = planned(live, FATES, 'age > bounds["allowed_lateness_ms"]', 'age >= bounds["allowed_lateness_ms"]')
    check_refused(limit, "fates (jobs/transforms/fates.py: fates_of)", "other numbers")


def test_another_click_interval_is_refused(live: Stage) -> None:
    plan = plan_deploy(live.platform, DeployRequest("ad_ctr", settings={"click_interval_ms": 5_000}))
    assert [(d.what, d.old, d.new) for d in plan.differences] == [("click_interval_ms", "10000", "5000")]
    assert "numbered by the old interval" in plan.differences[0].why
    with pytest.raises(DeployRefused, match="reprocess ad_ctr --from earliest --set click_interval_ms=5000\\."):
        refuse_if_refused(plan)


def test_an_upgrade_of_what_decides_numbers_is_refused_by_name(live: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    there = environment.present()
    monkeypatch.setattr(environment, "present", lambda: {**there, "pyspark": "9.9.9"})
    live.clock.sleep(1)
    plan = plan_deploy(live.platform, DeployRequest("ad_ctr", artifact=live.build()))
    check_refused(plan, "environment: pyspark", "other numbers")
    (found,) = plan.differences
    assert (found.old, found.new) == (there["pyspark"], "9.9.9")


def test_every_label_names_a_definition_that_is_there() -> None:
    assert LABELS.keys() <= artifacts.fingerprint(ROOT, JOBS["ad_ctr"]).parts.keys()


@pytest.mark.parametrize("lost", ["folder", "parts"])
def test_where_parts_are_not_known_the_digests_are_named(live: Stage, lost: str) -> None:
    old = live.platform.settings.artifacts / live.registry.held["ad_ctr", 1].artifact
    if lost == "folder":
        shutil.rmtree(old)
    else:
        forget_parts(old / "manifest.json")
    plan = planned(live, WINDOWS, "interval * 2", "interval * 4")
    assert [d.what for d in plan.differences] == ["state digest", "result digest"]
    assert plan.action is Action.REFUSED


INNOCENT = [
    ("jobs/sinks/rows.py", "from __future__", "OTHER = 1\nfrom __future__"),
    (WINDOWS, "from __future__", "# a comment\nfrom __future__"),
    (WINDOWS, "Accepted events to one row", "Other words"),
]


@pytest.mark.parametrize(("path", "old", "new"), INNOCENT)
def test_comments_docstrings_and_the_sink_change_in_place(live: Stage, path: str, old: str, new: str) -> None:
    version = live.registry.held["ad_ctr", 1]
    plan = planned(live, path, old, new)
    assert (plan.action, plan.version) == (Action.IN_PLACE, 1)
    assert plan.steps == tuple(DeployStep)[4:]
    assert plan.old == RunsAs(version.artifact, version.settings, 1)
    assert plan.new == RunsAs(plan.wanted.artifact, version.settings, 1)
    assert [(d.what, d.old, d.new) for d in plan.differences] == [("artifact", version.artifact, plan.wanted.artifact)]


TUNING = ("cadence_ms", "records_per_batch", "executor_cores", "executor_memory_mb", "driver_memory_mb", "executors")


@pytest.mark.parametrize("name", TUNING)
def test_settings_that_only_tune_change_in_place(live: Stage, name: str) -> None:
    old = live.registry.held["ad_ctr", 1].settings[name]
    new = 1 if name == "executors" else old + 200 if name != "executor_cores" else 3
    plan = plan_deploy(live.platform, DeployRequest("ad_ctr", settings={name: new}))
    assert plan.action is Action.IN_PLACE
    assert [(d.what, d.old, d.new) for d in plan.differences] == [(name, str(old), str(new))]
    assert plan.new is not None
    assert plan.new.settings[name] == new
    assert ("differs", table(plan.differences)) in plan.rows()


def test_a_plan_in_place_keeps_the_generation_and_survives_json(live: Stage) -> None:
    live.registry.held["ad_ctr", 1] = replace(live.registry.held["ad_ctr", 1], generation=4)
    plan = plan_deploy(live.platform, DeployRequest("ad_ctr", settings={"cadence_ms": 7}))
    assert plan.old is not None
    assert plan.new is not None
    assert (plan.old.generation, plan.new.generation) == (4, 4)
    assert DeployPlan.from_json(plan.to_json()) == plan


def test_a_refused_plan_survives_json(live: Stage) -> None:
    plan = plan_deploy(live.platform, DeployRequest("ad_ctr", settings={"click_interval_ms": 5_000}))
    assert DeployPlan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize("how", ["stopped", "gone", "failed"])
def test_a_version_that_does_not_run_changes_in_place_and_runs_afterwards(live: Stage, how: str) -> None:
    if how == "stopped":
        live.registry.desire("ad_ctr", 1, Desired.STOPPED)
    if how == "gone":
        live.cluster.states.clear()
    if how == "failed":
        live.registry.set_state("ad_ctr", 1, State.LIVE, State.FAILED)
    plan = plan_deploy(live.platform, DeployRequest("ad_ctr", settings={"cadence_ms": 7}))
    assert plan.action is Action.IN_PLACE
    assert "it runs afterwards" in plan.why[1]


def test_state_partitions_are_left_to_a_rescale(live: Stage) -> None:
    plan = plan_deploy(live.platform, DeployRequest("ad_ctr", settings={"state_partitions": 4, "cadence_ms": 7}))
    assert plan.action is Action.REFUSED
    assert [d.what for d in plan.differences] == ["state_partitions", "cadence_ms"]
    with pytest.raises(DeployRefused, match=r"\./kappa rescale ad_ctr --partitions 4"):
        refuse_if_refused(plan)


def test_a_tuning_setting_that_the_version_never_had_changes_nothing_by_itself(live: Stage) -> None:
    held = live.registry.held["ad_ctr", 1]
    fewer = {name: value for name, value in held.settings.items() if name != "cadence_ms"}
    live.registry.held["ad_ctr", 1] = replace(held, settings=fewer)
    assert plan_start(live.platform, "ad_ctr").action is Action.UNCHANGED
    assert plan_deploy(live.platform, DeployRequest("ad_ctr", settings={"cadence_ms": 7})).action is Action.IN_PLACE


def test_a_table_aligns_what_old_and_new_above_each_why() -> None:
    shown = table((Difference("keys", "a", "bb", "because"), Difference("window size", "1", "2", "so")))
    assert shown.splitlines() == [
        "what         old  new", "keys         a    bb", "    because", "window size  1    2", "    so",
    ]  # fmt: skip
