"""What the registry promises of leases, asked of the fake and of the one in Postgres alike."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from kappa.core.audit import Author
from kappa.core.versions import LIVE_END, Lease
from kappa.registry.port import Registry, UnderWay
from stack.layout import Layout
from tests.plugins.registries import BY, OTHER, PostgresTrial, Trial


def audited(registry: Registry, by: Author, job: str) -> list[tuple[str, int | None]]:
    """What a run wrote into the audit: action and version."""
    return [(entry.action, entry.version) for entry in registry.entries(by.run_id) if entry.job == job]


def taken_from(registry: Registry, by: Author, job: str) -> list[Any]:
    """Whose leases a run took over."""
    entries = [entry for entry in registry.entries(by.run_id) if entry.job == job]
    return [entry.evidence["from"] for entry in entries if entry.action == "lease.taken_over"]


def test_a_lease_names_its_holder_the_verb_the_reason_and_its_end(registry: Registry, job: str) -> None:
    assert registry.lease(job, 1) is None
    lease = registry.take_lease("rescale", job, 1, BY, 60)
    assert registry.lease(job, 1) == lease
    assert lease == Lease(job, 1, BY.run_id, "rescale", "tester", "because", lease.taken_at, lease.ends_at)
    assert timedelta(seconds=59) < lease.ends_at - lease.taken_at <= timedelta(seconds=61)
    assert lease.ends_at.utcoffset() == timedelta(0)


@pytest.mark.fault("F4", "one run holds the version; another one ends with who holds it, and why")
def test_a_version_is_held_by_one_run_until_it_gives_it_back(registry: Registry, job: str) -> None:
    registry.take_lease("deploy", job, 1, BY, 60)
    with pytest.raises(UnderWay, match=rf"{job} v1 is held by a deploy of tester \(because\), run {BY.run_id}"):
        registry.take_lease("stop", job, 1, OTHER, 60)
    registry.release_leases(OTHER)
    assert registry.lease(job, 1) is not None
    registry.release_leases(BY)
    registry.release_leases(BY)
    assert registry.lease(job, 1) is None
    assert registry.take_lease("stop", job, 1, OTHER, 60).run_id == OTHER.run_id
    assert audited(registry, OTHER, job) == [("stop.begun", 1)]


def test_a_run_gives_back_all_it_holds_and_nothing_else(registry: Registry, job: str) -> None:
    registry.take_lease("repair", job, 1, BY, 60)
    registry.take_lease("repair", job, 2, BY, 60)
    registry.take_lease("deploy", job, LIVE_END, OTHER, 60)
    registry.release_leases(BY)
    assert [registry.lease(job, number) is None for number in (1, 2, LIVE_END)] == [True, True, False]


def test_versions_are_held_apart_and_so_is_the_live_end(registry: Registry, job: str) -> None:
    registry.take_lease("deploy", job, 1, BY, 60)
    others = [registry.take_lease("deploy", job, number, OTHER, 60) for number in (2, LIVE_END)]
    registry.take_lease("deploy", job, 1, BY, 900)
    assert [registry.lease(job, number) for number in (2, LIVE_END)] == others


def test_the_holder_asking_again_gets_a_new_end_and_begins_once(registry: Registry, job: str) -> None:
    first = registry.take_lease("deploy", job, 1, BY, 60)
    second = registry.take_lease("deploy", job, 1, BY, 900)
    assert second.taken_at == first.taken_at
    assert second.ends_at - first.ends_at > timedelta(seconds=800)
    assert registry.lease(job, 1) == second
    assert audited(registry, BY, job) == [("deploy.begun", 1)]


def test_a_lease_ends_by_itself_and_the_audit_says_who_took_it_over(trial: Trial, job: str) -> None:
    registry = trial.registry
    registry.take_lease("deploy", job, 1, BY, 3600)
    trial.two_hours_pass()
    assert registry.lease(job, 1) is None
    lease = registry.take_lease("rescale", job, 1, OTHER, 60)
    assert (lease.run_id, lease.verb, lease.actor, lease.reason) == (OTHER.run_id, "rescale", "other", None)
    assert timedelta(seconds=59) < lease.ends_at - lease.taken_at <= timedelta(seconds=61)
    assert audited(registry, OTHER, job) == [("lease.taken_over", 1), ("rescale.begun", 1)]


def test_the_lease_of_a_run_that_has_ended_is_taken_over_and_the_audit_says_from_whom(
    registry: Registry, job: str
) -> None:
    held = registry.take_lease("deploy", job, 1, BY, 3600)
    with pytest.raises(UnderWay):
        registry.take_lease("rescale", job, 1, OTHER, 60, over="run-of-nobody")
    assert registry.take_lease("rescale", job, 1, OTHER, 60, over=BY.run_id).run_id == OTHER.run_id
    told = {"run_id": BY.run_id, "verb": "deploy", "actor": "tester", "ends_at": held.ends_at.isoformat()}
    assert taken_from(registry, OTHER, job) == [told]
    with pytest.raises(UnderWay, match=OTHER.run_id):
        registry.take_lease("deploy", job, 1, BY, 60)


def test_a_lapsed_lease_that_nobody_took_over_is_its_holders_again(trial: Trial, job: str) -> None:
    registry = trial.registry
    registry.take_lease("deploy", job, 1, BY, 60)
    trial.two_hours_pass()
    registry.take_lease("deploy", job, 1, BY, 60)
    assert registry.lease(job, 1) is not None
    assert audited(registry, BY, job) == [("deploy.begun", 1)]


@pytest.mark.rig
def test_of_many_that_ask_at_once_one_gets_the_lease(parts: Layout, job: str) -> None:
    def take(number: int) -> int:
        try:
            trial.registry.take_lease("deploy", job, 1, Author("tester", f"{BY.run_id}-{number}"), 60)
        except UnderWay:
            return 0
        return 1

    with PostgresTrial(job, parts.settings).prepared() as trial, ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(take, range(6))) == 1
