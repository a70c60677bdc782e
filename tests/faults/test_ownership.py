"""A driver owns what it marks: paused at any step, it takes nothing from the driver that came after it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

import psycopg
import pytest

from jobs import run
from jobs.driver import ownership
from jobs.driver.ownership import Driven, LaunchLost
from jobs.driver.registry import DriverRegistry
from kappa.registry.launches import PostgresLaunches
from kappa.registry.transactions import Database
from tests.faults.submitted import beating_since
from tests.rigs.case import Case
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig


@dataclass
class Process:
    """A driver's process as far as the registry sees it."""

    registry: DriverRegistry
    launch: str
    submission: str

    def claim(self) -> bool:
        return self.registry.claim(self.launch, self.submission)

    def take_over(self) -> int | None:
        taken = self.registry.take_over(self.launch, self.submission, 7)
        return taken[1] if taken else None

    def fail(self) -> None:
        self.registry.fail(self.launch, self.submission, f"{self.submission} says so")


@pytest.fixture
def case(rig: Rig) -> Case:
    return rig.case()


@pytest.fixture
def paused(case: Case) -> Iterator[Process]:
    """A process that has claimed the version's launch, and goes on when the test says so."""
    staged = case.version()
    process = _process(case, str(staged.launch), "driver-1")
    assert process.claim()
    yield process
    process.registry.close()


@pytest.fixture
def other(case: Case) -> Iterator[Process]:
    """Another submission's process for the same launch."""
    process = _process(case, str(case.version().launch), "driver-2")
    yield process
    process.registry.close()


def _process(case: Case, launch: str, submission: str) -> Process:
    staged = case.version()
    return Process(DriverRegistry(case.settings, staged.job, staged.version), launch, submission)


def control(case: Case) -> PostgresLaunches:
    return PostgresLaunches(Database(case.settings.dsn("kappa_registry")))


def epoch(case: Case) -> int:
    return int(case.query("select epoch from registry.fence")[0]["epoch"])


def silence(case: Case) -> None:
    """The claim is so old that another may take it."""
    case.query("update registry.launch set claimed_at = claimed_at - interval '10 minutes' where ended_at is null")


def test_who_was_paused_before_its_take_over_takes_nothing_from_who_claimed_the_launch_since(
    case: Case, paused: Process, other: Process
) -> None:
    silence(case)
    assert other.claim()
    owned = other.take_over()
    with pytest.raises(LaunchLost):
        paused.take_over()
    assert epoch(case) == owned
    with pytest.raises(LaunchLost):
        paused.fail()
    paused.registry.end_launch(paused.launch, paused.submission)
    assert (case.state(), case.red()) == ("LIVE", {})
    assert case.query("select 1 from registry.launch where ended_at is null"), "the launch of the other goes on"


def test_who_takes_over_is_told_the_applications_of_the_drivers_before_it_and_no_others(
    case: Case, paused: Process, other: Process
) -> None:
    """A cluster that lost sight of them keeps them, cores and all."""
    paused.take_over()
    assert paused.registry.note_application("app-1") == []
    silence(case)
    assert other.claim()
    other.take_over()
    assert other.registry.note_application("app-2") == ["app-1"]
    assert paused.registry.note_application("app-1") == [], "not that of the driver after it"


@pytest.mark.fault("F36", "the backend that holds the fence is ended by who takes over, and nothing of it is committed")
def test_who_takes_over_ends_the_transaction_in_which_the_owner_before_stopped(
    case: Case, paused: Process, other: Process
) -> None:
    """Its own time-outs would end it, too, but not while it waits in a COPY."""
    staged, owned = case.version(), paused.take_over()
    name = f"kappa:{staged.job}:v{staged.version}:e{owned}"
    with psycopg.connect(case.settings.dsn("kappa_writer"), application_name=name) as stopped:
        stopped.execute("select 1 from registry.fence for no key update")
        silence(case)
        assert other.claim()
        assert other.take_over() == epoch(case) > (owned or 0)
        with pytest.raises(psycopg.OperationalError, match="terminating connection"):
            stopped.execute("select 1")


def test_a_driver_that_the_cluster_lost_sight_of_is_superseded_although_it_beats(
    case: Case, paused: Process, other: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its host is cut off from the master alone; the one in its place was refused, and in the end nobody ran."""
    monkeypatch.setattr(run, "ALIVE", timedelta(seconds=1))
    paused.take_over()
    beating_since(case, minutes=3)
    assert run._claimed(case.settings, other.registry, other.launch, other.submission)
    assert other.take_over() == epoch(case)
    with pytest.raises(LaunchLost):
        paused.fail()


def test_a_driver_whose_connections_are_gone_is_replaced_before_its_heartbeat_is_old(
    case: Case, paused: Process, other: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its worker was killed, and with it the driver; the master has it started anew, under another name."""
    monkeypatch.setattr(ownership, "LONG_GONE_SECONDS", 0.0)
    paused.take_over()
    beating_since(case, minutes=0)
    assert run._claimed(case.settings, other.registry, other.launch, other.submission)
    assert other.take_over() == epoch(case)


@pytest.mark.fault("F4", "sent twice, the request starts one driver: the second one leaves")
def test_a_second_driver_of_a_request_that_was_sent_twice_leaves(
    case: Case, paused: Process, other: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "ALIVE", timedelta(seconds=1))
    owned = paused.take_over()
    beating_since(case, minutes=1)
    assert not run._claimed(case.settings, other.registry, other.launch, other.submission)
    assert epoch(case) == owned


def test_who_was_paused_over_a_change_in_place_does_not_start_with_the_old_generation(
    case: Case, paused: Process
) -> None:
    control(case).end_launch(uuid.UUID(paused.launch))
    case.query("update registry.job_version set generation = 2")
    before = epoch(case)
    with pytest.raises(LaunchLost):
        paused.take_over()
    assert epoch(case) == before


def test_the_version_is_told_as_it_is_at_the_take_over(case: Case, paused: Process) -> None:
    paused.registry.describe()
    case.query("update registry.job_version set generation = 2")
    taken = paused.registry.take_over(paused.launch, paused.submission, 7)
    assert taken is not None
    assert (taken[0].generation, taken[1]) == (2, epoch(case))


@pytest.mark.parametrize("change", ["state = 'RETIRED'", "state = 'FAILED'", "desired = 'stopped'"])
def test_a_version_that_is_not_to_run_is_not_taken_over(case: Case, paused: Process, change: str) -> None:
    before = epoch(case)
    case.query(f"update registry.job_version set {change}")
    assert paused.take_over() is None
    assert epoch(case) == before


def test_an_owner_that_was_taken_over_marks_nothing(case: Case, paused: Process, other: Process) -> None:
    """It was the owner once, and its launch still bears its name: repair shut it out."""
    assert paused.take_over()
    control(case).raise_epoch(case.version().job, case.version().version)
    with pytest.raises(LaunchLost):
        paused.fail()
    paused.registry.raise_red("query", "late words")
    assert (case.state(), case.red()) == ("LIVE", {})
    case.query("insert into registry.red_line (job, version, what, detail) select job, version, 'query', 'x' "
               "from registry.job_version")  # fmt: skip
    paused.registry.clear_red("query")
    assert case.red() == {"query": "x"}


def test_the_owner_fails_the_version_and_ends_its_launch_at_once(case: Case, paused: Process) -> None:
    assert paused.take_over()
    paused.fail()
    assert (case.state(), case.red()) == ("FAILED", {"failed": "driver-1 says so"})
    assert not case.query("select 1 from registry.launch where ended_at is null")


def test_before_its_take_over_the_claim_says_that_it_may_fail_the_version(case: Case, paused: Process) -> None:
    paused.fail()
    assert case.state() == "FAILED"


def test_a_launch_that_is_ended_between_claim_and_commit_of_the_take_over_owns_nothing(
    case: Case, paused: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever ends the launch meanwhile waits for the take-over, and shuts its epoch out."""
    raise_epoch = ownership.raise_epoch

    def meanwhile(*given: object) -> int:
        with psycopg.connect(case.settings.dsn("kappa_registry"), options="-c lock_timeout=300ms") as connection, \
                pytest.raises(psycopg.errors.LockNotAvailable):  # fmt: skip
            connection.execute("update registry.launch set ended_at = now() where ended_at is null")
        return raise_epoch(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(ownership, "raise_epoch", meanwhile)
    owned = paused.take_over()
    control(case).end_launch(uuid.UUID(paused.launch))
    assert owned is not None
    assert epoch(case) > owned


def test_a_finite_program_takes_no_version_over_that_is_driven(case: Case, paused: Process) -> None:
    with pytest.raises(Driven, match="has an open launch"):
        paused.registry.seize("repartition-1", 7)
    paused.registry.end_launch(paused.launch, paused.submission)
    version, owned = paused.registry.seize("repartition-1", 7)
    assert (version.version, owned) == (case.version().version, epoch(case))
