"""Small files of a checkpoint are cut or lost: the start is refused, and the repair that is named restores them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from kappa.core.audit import Author
from kappa.core.checkpoint.restore import NotRestorable
from kappa.platform import connect
from kappa.verbs import lease
from kappa.verbs.lease import nobody_ended
from kappa.verbs.repair import checkpoint as checkpoint_steps
from tests.faults.recoveries import refused, revive, served
from tests.rigs.case import Case
from tests.rigs.checkpoint_folders import folder_of
from tests.rigs.events import events, mixture
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig
BY = Author("tester", "run-1", "F6")
DAMAGE: dict[str, float | None] = {"cut to nothing": 0.0, "cut by half": 0.5, "lost": None}


def damage(case: Case, name: str, kept: float | None, job: str | None = None) -> None:
    """Cut or lose a file of the checkpoint."""
    file = folder_of(case.checkpoint(job)) / name
    if kept is None:
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[: int(file.stat().st_size * kept)])


@contextmanager
def whole_again(case: Case) -> Iterator[None]:
    """Put the checkpoint back as it was before the body, and have the version go on."""
    path = folder_of(case.checkpoint())
    shutil.copytree(path, path.with_name("whole"))
    yield
    shutil.rmtree(path)
    path.with_name("whole").rename(path)
    revive(case)


def restored(case: Case, job: str = "ad_ctr") -> str:
    """What './kappa repair JOB --checkpoint' does, and says; then the version is given a new try."""
    platform = connect(case.settings)
    lease.take(platform, checkpoint_steps.VERB, job, BY, 600.0, 0.0, nobody_ended)
    said = checkpoint_steps.carry_out(platform, job, BY)
    lease.release(platform, BY)
    revive(case, job)
    return said


def read(rig: Rig, *jobs: str) -> Case:
    """Three batches at least."""
    case = rig.case(*jobs)
    for first in (0, 100, 200):
        case.produce(events(20, first))
        case.run_until_read()
    return case


@pytest.mark.fault("F6", "FAILED with the file, before anything is read or written, and the repair that restores it")
def test_each_damage_is_refused_with_the_file_and_the_repair(rig: Rig) -> None:
    case = read(rig)
    before, newest = served(case), case.batches()[-1]["batch_id"]
    case.produce(events(20, 300))
    damages = (
        (f"offsets/{newest}", None, f"its newest batch is {newest - 1}"),
        (f"offsets/{newest - 1}", 0.5, f"offsets/{newest - 1}"),
        (f"commits/{newest}", 0.0, f"commits/{newest}"),
        ("metadata", None, "metadata"),
    )
    for (
        name,
        kept,
        words,
    ) in damages:  # all ways: test_checkpoint_reader.py
        with whole_again(case):
            damage(case, name, kept)
            said = refused(case)
            assert words in said
            assert "'./kappa repair JOB --checkpoint'" in said
            assert served(case) == before
    case.run_until_read()
    case.check()


@pytest.mark.fault("F6", "the repair restores plan, commit and metadata from the database's offsets; exact afterwards")
def test_what_the_refusal_names_restores_the_checkpoint_and_the_numbers_are_exact(rig: Rig, seed: int) -> None:
    case = read(rig)
    for times, kept in enumerate(DAMAGE.values()):
        newest = case.checkpoint().newest_committed()
        assert newest is not None
        names = [f"offsets/{newest}", f"offsets/{newest - 1}", "metadata"]
        for name in names:
            damage(case, name, kept)
        refused(case)
        said = restored(case)
        assert all(f"{name} written again" in said for name in names)
        _go_on(case, seed + times)


@pytest.mark.long(minutes=1)
@pytest.mark.fault("F6", "a commit that cannot be read is taken away: its batch runs again and changes nothing")
def test_damaged_commits_are_restored_and_the_numbers_are_exact(rig: Rig, seed: int) -> None:
    case = read(rig)
    for times, how in enumerate(("newest", "both newest", "before a pending batch")):
        newest = case.checkpoint().newest_committed()
        assert newest is not None
        if how == "before a pending batch":
            (folder_of(case.checkpoint()) / "commits" / str(newest)).unlink()
            newest -= 1
        for number in (newest, newest - 1)[: 2 if how == "both newest" else 1]:
            damage(case, f"commits/{number}", 0.5)
        before = served(case)
        assert f"commits/{newest}" in refused(case)
        restored(case)
        case.run_until_read()
        assert served(case) == before, how
        _go_on(case, seed + times)


@pytest.mark.long(minutes=1)
@pytest.mark.fault("F6", "the plan of a batch that nobody committed is planned anew")
def test_a_plan_that_was_cut_before_its_batch_ran_is_planned_anew(rig: Rig, seed: int) -> None:
    case = read(rig)
    planned = case.checkpoint().newest_planned()
    assert planned is not None
    (folder_of(case.checkpoint()) / "offsets" / str(planned + 1)).write_text("v1\n")
    assert f"offsets/{planned + 1}" in refused(case)
    assert f"offsets/{planned + 1} taken away" in restored(case)
    _go_on(case, seed)


@pytest.mark.fault("F6", "the repair refuses what it cannot prove, and names the replay")
def test_a_gap_that_the_database_cannot_fill_is_left_to_a_replay(rig: Rig) -> None:
    case = read(rig)
    for file in (folder_of(case.checkpoint()) / "offsets").glob("*"):
        file.unlink()
    refused(case)
    with pytest.raises(NotRestorable, match=r"'\./kappa reprocess'"):
        restored(case)


def _go_on(case: Case, seed: int, jobs: Sequence[str] = ()) -> None:
    """Read on, records for the windows of before among them, and be exact."""
    case.produce([*events(20, 10), *mixture(seed, 100)])
    case.run_until_read(*jobs)
    case.check()
    assert case.state() == "LIVE"
