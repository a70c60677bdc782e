"""A verb in place: under a lease that is always given back, and one job's refusal is its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cli import lifecycle_verbs, run_verb
from cli.follow import Outcome
from kappa.airflow_api import Run
from kappa.core.audit import Author
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import UnknownJob
from kappa.core.refusals import Refusal
from kappa.core.requests.lifecycle import DeployRequest
from kappa.core.versions import Lease
from kappa.platform import Platform
from tests.plugins.fake_releases import FakeReleases
from tests.plugins.fakes import NOON, FakeCluster, FakeLog, FakeRegistry


class Held(Refusal):
    """Another run holds the job."""


class Leases:
    """The steps `take` and `release`: what was asked of them, in order; a job of `held` is refused."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.held: set[str] = set()

    def take(
        self,
        platform: Platform,
        verb: str,
        job: str,
        by: Author,
        seconds: float,
        wait: float,
        is_over: Callable[..., bool],
    ) -> Lease:
        self.asked.append(("take", (verb, job, wait)))
        if job in self.held:
            raise Held(f"{job} is held by run-7.")
        return Lease(job, 1, by.run_id, verb, by.actor, by.reason, NOON, NOON)

    def release(self, platform: Platform, by: Author) -> None:
        self.asked.append(("release", by.run_id))


@pytest.fixture
def leases(monkeypatch: pytest.MonkeyPatch) -> Leases:
    made = Leases()
    monkeypatch.setattr("cli.run_verb.lease.take", made.take)
    monkeypatch.setattr("cli.run_verb.lease.release", made.release)
    return made


@pytest.fixture
def platform(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Platform:
    registry = FakeRegistry()
    log = FakeLog({0: 0}, {0: []})
    made = Platform(settings, registry, FakeCluster(registry), log.opened, registry.clock, FakeReleases(registry))
    monkeypatch.setattr(run_verb, "connect", lambda _: made)
    return made


def act(platform: Platform, job: str, by: Author) -> str:
    """What is done to a job."""
    return f"{job} is done."


def test_a_job_is_held_while_it_is_acted_on_and_given_back(
    settings: Settings, platform: Platform, leases: Leases
) -> None:
    (outcome,) = run_verb.in_place(settings, "stop", ["ad_ctr"], "why", act)
    assert leases.asked == [("take", ("stop", "ad_ctr", 0.0)), ("release", outcome.run_id)]
    assert outcome == Outcome("ad_ctr", outcome.run_id, True, "ad_ctr is done.")


def test_who_says_so_waits_for_a_held_job(settings: Settings, platform: Platform, leases: Leases) -> None:
    run_verb.in_place(settings, "stop", ["ad_ctr"], None, act, wait=True)
    assert leases.asked[0] == ("take", ("stop", "ad_ctr", run_verb.WAIT_SECONDS))


def test_a_held_job_is_left_alone_and_the_next_one_has_its_turn(
    settings: Settings, platform: Platform, leases: Leases
) -> None:
    leases.held.add("ad_ctr")
    first, second = run_verb.in_place(settings, "stop", ["ad_ctr", "quarantine"], None, act)
    assert (first.success, first.sentence) == (False, "ad_ctr is held by run-7.")
    assert second.success
    assert [entry.action for entry in platform.registry.entries(first.run_id)] == ["stop.refused"]


def test_a_crash_gives_the_job_back(settings: Settings, platform: Platform, leases: Leases) -> None:
    def crash(platform: Platform, job: str, by: Author) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_verb.in_place(settings, "stop", ["ad_ctr"], None, crash)
    assert [what for what, _ in leases.asked] == ["take", "release"]


def test_an_unknown_job_stops_all_before_the_first_is_touched(
    settings: Settings, platform: Platform, leases: Leases
) -> None:
    with pytest.raises(UnknownJob):
        run_verb.in_place(settings, "stop", ["ad_ctr", "ad_crt"], None, act)
    assert leases.asked == []


@pytest.mark.parametrize(("wait", "said"), [(False, "refuse"), (True, "wait")])
def test_the_form_says_what_to_do_when_the_job_is_held(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, wait: bool, said: str
) -> None:
    sent: dict[str, Any] = {}
    monkeypatch.setattr(lifecycle_verbs, "by_airflow", lambda _, dag, forms: sent.update({dag: forms}))
    lifecycle_verbs.deploy(settings, [DeployRequest("ad_ctr")], "why", wait)
    lifecycle_verbs.stop(settings, ["ad_ctr"], None, wait)
    assert [forms["ad_ctr"]["when_held"] for forms in sent.values()] == [said, said]
    assert sent["stop_stream"]["ad_ctr"] == {
        "job": "ad_ctr", "reason": None, "when_held": said, "dry_run": False,
    }  # fmt: skip


class Away(Refusal):
    """Airflow does not answer."""


class TakesOneRun:
    """An Airflow that takes runs for `jobs` only."""

    def __init__(self, *jobs: str) -> None:
        self.jobs = jobs

    def trigger(self, dag_id: str, job: str, _: object) -> Run:
        if job not in self.jobs:
            raise Away(f"no answer for {job}")
        return Run(dag_id, f"run-{job}", job)


class Succeeding:
    """A follower whose runs all succeed."""

    def __init__(self, *_: object) -> None:
        pass

    def follow(self, runs: list[Run]) -> list[Outcome]:
        return [Outcome(run.job, run.run_id, True, "done") for run in runs]


def _asked(settings: Settings, monkeypatch: pytest.MonkeyPatch, airflow: TakesOneRun) -> list[Outcome]:
    monkeypatch.setattr(run_verb, "session", lambda _: airflow)
    monkeypatch.setattr(run_verb, "Follower", Succeeding)
    return run_verb.by_airflow(settings, "stop_stream", {"ad_ctr": {}, "client_spend": {}, "quarantine": {}})


@pytest.mark.usefixtures("platform")
def test_a_run_that_cannot_be_begun_does_not_keep_the_others_from_being_followed(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _asked(settings, monkeypatch, TakesOneRun("ad_ctr", "quarantine")) == [
        Outcome("ad_ctr", "run-ad_ctr", True, "done"),
        Outcome("client_spend", "", False, "no answer for client_spend"),
        Outcome("quarantine", "run-quarantine", True, "done"),
    ]


@pytest.mark.usefixtures("platform")
def test_where_no_run_can_be_begun_it_says_why(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Away, match="ad_ctr"):
        _asked(settings, monkeypatch, TakesOneRun())
