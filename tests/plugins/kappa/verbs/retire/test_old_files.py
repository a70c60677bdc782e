"""Old files on a real folder: what goes, what is left alone, killed half-way, and a year's worth of growth."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from kappa.core.audit import Author
from kappa.verbs.replay.validation import attempt
from kappa.verbs.retire import old_files
from kappa.verbs.retire.old_files_plan import KEEP, Keep
from tests.plugins.conftest import Stage
from tests.plugins.replay_runs import deployed, run_all

DAY = 86_400.0
SWEEP, OTHER = Author("airflow", "sweep-1"), Author("other", "run-2")
FEW = replace(KEEP, output_bytes=1000)


def nobody() -> list[Path]:
    """No process works anywhere."""
    return []


def write(stage: Stage, path: str, age: float = 0.0, size: int = 100) -> Path:
    """A file in the state folder that was written so many seconds before the stage's present."""
    file = stage.platform.settings.home / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"x" * size)
    when = stage.clock.now().timestamp() - age
    os.utime(file, (when, when))
    return file


def sweep(stage: Stage, keep: Keep = KEEP) -> str:
    """Plan and carry out."""
    plan = old_files.plan_old_files(stage.platform, keep, nobody)
    return old_files.carry_out(stage.platform, plan, SWEEP, keep)


def files(stage: Stage) -> set[str]:
    """What is left in the state folder but the artifacts and the jars, relative to it."""
    home = stage.platform.settings.home
    found = (str(file.relative_to(home)) for file in home.rglob("*") if file.is_file())
    return {file for file in found if not file.startswith(("artifacts/", "jars/")) or "/.build-" in file}


def test_old_files_of_every_kind_go_and_the_audit_says_how_many(stage: Stage) -> None:
    old = [
        "spark/driver-1/stdout", "spark/app-1/0/stderr", f"work/{uuid4()}/trial.json", "validations/r/a/report.html",
        "airflow/logs/dag_id=d/run_id=r/task_id=t/attempt=1.log", "airflow/logs/dag_processor/day/a.log",
        "artifacts/.build-x/y/jobs/run.py", "environments/.build-x/y/bin/python", "live_validations/a/report.html",
    ]  # fmt: skip
    for path in old:
        write(stage, path, 40 * DAY)
        young = path
        for name, other in (("-1/", "-2/"), ("/a/", "/b/"), ("t=1", "t=2"), ("a.log", "b.log"), ("-x/", "-y/")):
            young = young.replace(name, other)
        write(stage, young)
    write(stage, "spark/secret.txt", 400 * DAY)
    write(stage, "checkpoints/ad_ctr/v1/g1/metadata", 400 * DAY)
    assert sweep(stage).startswith("removed: ")
    assert files(stage) == {
        "spark/driver-2/stdout", "spark/app-2/0/stderr", "validations/r/b/report.html", "spark/secret.txt",
        "live_validations/b/report.html", "airflow/logs/dag_id=d/run_id=r/task_id=t/attempt=2.log",
        "airflow/logs/dag_processor/day/b.log", "artifacts/.build-y/y/jobs/run.py",
        "environments/.build-y/y/bin/python", "checkpoints/ad_ctr/v1/g1/metadata",
    } | {one for one in files(stage) if one.startswith("work/")}  # fmt: skip
    [(_, entry)] = [one for one in stage.registry.audit if one[1].action == old_files.ACTION]
    assert entry.evidence["removed"]["validations"] == {"count": 1, "bytes": 100}
    assert entry.evidence["removed"]["validations of what serves"] == {"count": 1, "bytes": 100}
    assert entry.evidence["removed"]["unfinished builds"] == {"count": 2, "bytes": 200}
    assert len(entry.evidence["removed"]) == 7
    assert sweep(stage) == "no old files."
    assert len([one for one in stage.registry.audit if one[1].action == old_files.ACTION]) == 1


def test_an_open_change_a_release_and_a_process_keep_what_they_need(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    run_all(stage.platform, OTHER)
    named = {
        str(one.evidence["validation"]["folder"]) for one in stage.releases.releases() if "replay_id" in one.evidence
    }
    assert len(named) == 1
    stage.clock.sleep(60 * DAY)
    write(stage, "validations/r/unnamed/report.html", 40 * DAY)
    folder = write(stage, "spark/app-3/0/stderr", 40 * DAY).parent
    with at_work_in(folder):
        plan = old_files.plan_old_files(stage.platform)
    old_files.carry_out(stage.platform, plan, SWEEP)
    home = stage.platform.settings.home
    assert {str(one.relative_to(home)) for one in home.glob("validations/*/*")} == named
    assert folder.exists()
    sweep(stage)
    assert not folder.exists()


def test_what_validations_left_in_a_store_is_as_old_as_its_name_says(stage: Stage, tmp_path: Path) -> None:
    stage.keep_in(str(tmp_path / "store"))
    store, now = stage.platform.settings.store, stage.clock.now()
    for days in (0, 20, 40):
        at = attempt(now - timedelta(days=days))
        for folder in (f"validations/{uuid4()}/{at}", f"live_validations/{at}"):
            (store / f"{folder}/report.html").write(b"x" * 50)
            (store / f"{folder}/in.json").write(b"x" * 50)
    (store / "validations/by/hand").write(b"x")
    assert sweep(stage) == "removed: 1 validations (0.0 MB), 2 validations of what serves (0.0 MB)."
    assert len((store / "validations").files()) == 5, "what is named otherwise is not ours"
    assert len((store / "live_validations").files()) == 2
    assert sweep(stage) == "no old files."


def test_the_last_words_of_each_versions_newest_drivers_stay(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    (driver,) = {name for name, key in stage.registry.submissions().items() if key == ("ad_ctr", 1)}
    kept = write(stage, f"spark/{driver}/stdout", 100 * DAY)
    write(stage, "spark/driver-of-nobody/stdout", 100 * DAY)
    sweep(stage)
    assert files(stage) == {str(kept.relative_to(stage.platform.settings.home))}


def test_an_output_is_cut_while_its_program_goes_on_writing(stage: Stage) -> None:
    output = write(stage, "spark/driver-1/stdout", size=0)
    with output.open("ab", buffering=0) as program:
        program.write(b"".join(b"line %06d\n" % n for n in range(1_000)))
        assert "1 outputs cut" in sweep(stage, FEW)
        program.write(b"a line later\n")
    assert output.read_bytes() == b"a line later\n"
    earlier = output.with_name("stdout.1").read_bytes()
    assert len(earlier) == FEW.output_bytes
    assert earlier.endswith(b"line 000999\n")
    assert not list(output.parent.glob("*.part"))


def test_killed_between_two_removals_the_next_sweep_ends_the_work(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        write(stage, f"spark/driver-{number}/stdout", 40 * DAY)
        write(stage, f"spark/driver-{number}/stderr", 40 * DAY)
    plan, home = old_files.plan_old_files(stage.platform, KEEP, nobody), stage.platform.settings.home
    remove, done = old_files._remove, iter(range(10))

    def dies(path: Path) -> None:
        if next(done) == 3:
            (path / "stdout").unlink()
            raise KeyboardInterrupt
        remove(path)

    monkeypatch.setattr(old_files, "_remove", dies)
    with pytest.raises(KeyboardInterrupt):
        old_files.carry_out(stage.platform, plan, SWEEP)
    monkeypatch.setattr(old_files, "_remove", remove)
    assert list(home.glob("spark/driver-*"))
    sweep(stage)
    old_files.carry_out(stage.platform, plan, SWEEP)
    assert not list(home.glob("spark/driver-*"))


def test_months_of_submissions_logs_and_reports_leave_a_bounded_folder(stage: Stage, author: Author) -> None:
    """Every day a driver dies twice, each leaves much output, a replay is validated, and every run has its logs."""
    deployed(stage, author, "ad_ctr")
    home, sizes = stage.platform.settings.home, []
    for day in range(90):
        for number in range(2):
            launch = stage.registry.intend_launch("ad_ctr", 1, uuid4())
            stage.registry.record_submission(launch.launch_id, f"driver-{day}-{number}")
            stage.registry.end_launch(launch.launch_id)
            write(stage, f"spark/driver-{day}-{number}/stdout", size=5 * FEW.output_bytes)
            write(stage, f"spark/app-{day}-{number}/0/stderr", size=5 * FEW.output_bytes)
        write(stage, f"validations/{day}/a/report.html")
        write(stage, f"work/{uuid4()}/trial.json")
        write(stage, f"airflow/logs/dag_id=d/run_id={day}/task_id=t/attempt=1.log")
        write(stage, f"airflow/logs/dag_processor/{day}/dags/a.log")
        stage.clock.sleep(DAY)
        sweep(stage, FEW)
        left = files(stage)
        sizes.append((len(left), sum((home / one).stat().st_size for one in left)))
    assert sizes[-1] == sizes[45]
    assert sizes[-1][0] < 90, "made were 720"


def test_folders_of_runs_without_logs_go_but_not_todays(stage: Stage) -> None:
    write(stage, "airflow/logs/dag_id=d/run_id=r/task_id=t/attempt=1.log", 40 * DAY)
    logs = stage.platform.settings.home / "airflow" / "logs" / "dag_id=d"
    sweep(stage)
    assert [one.name for one in logs.rglob("*")] == ["run_id=r", "task_id=t"]
    for folder in ("run_id=r/task_id=t", "run_id=r", "."):
        os.utime(logs / folder, (0, 0))
    sweep(stage)
    os.utime(logs / "run_id=r", (0, 0))
    sweep(stage)
    assert logs.exists()
    assert list(logs.iterdir()) == []


@contextmanager
def at_work_in(folder: Path) -> Iterator[None]:
    """A process whose working folder that is."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], cwd=folder, stdin=subprocess.PIPE)
    try:
        yield
    finally:
        process.communicate(b"\n")
