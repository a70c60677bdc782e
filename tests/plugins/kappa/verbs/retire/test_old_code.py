"""Artifacts and environments that nothing needs any more, on a real folder."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from kappa.code import artifacts, environments
from kappa.core.audit import Author
from kappa.verbs.retire import old_code
from tests.plugins.conftest import Stage
from tests.plugins.replay_runs import deployed

DAY = timedelta(days=1)
UNUSED = "0123456789abcdef"


def environment(stage: Stage, name: str, asked_for: datetime) -> Path:
    """An environment that was made, or asked for again, then."""
    folder = environments.folder(stage.platform.settings.shared) / name
    (folder / "bin").mkdir(parents=True)
    os.utime(folder, (asked_for.timestamp(), asked_for.timestamp()))
    return folder


def test_an_environment_goes_once_no_artifact_runs_with_it_and_it_is_old(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    now, settings = stage.clock.now(), stage.platform.settings
    (running,) = artifacts.known(settings.artifacts)
    used = environments.name(running.environment)
    for name, age in ((used, 400), (UNUSED, 2), ("young", 0)):
        environment(stage, name, now - age * DAY)
    said = old_code.drop(stage.platform, now - DAY)
    assert said == [f"environments that no artifact needs: {UNUSED} removed"]
    assert {one.name for one in environments.folder(settings.shared).iterdir()} == {used, "young"}
    assert old_code.drop(stage.platform, now - DAY) == []


def test_with_its_last_artifact_an_environment_goes(stage: Stage, author: Author) -> None:
    """In one sweep, artifacts first."""
    deployed(stage, author)
    now, settings = stage.clock.now(), stage.platform.settings
    (running,) = artifacts.known(settings.artifacts)
    older = settings.artifacts / "older"
    older.mkdir()
    text = (running.folder / "manifest.json").read_text()
    versions = next(iter(running.environment.values()))
    changed = text.replace(running.digest, "older").replace(versions, "0.0.1")
    (older / "manifest.json").write_text(changed.replace(str(running.created_at.year), "2001"))
    (of_older,) = {environments.name(one.environment) for one in artifacts.known(settings.artifacts)[:1]}
    environment(stage, of_older, now - 2 * DAY)
    assert old_code.drop(stage.platform, now - DAY) == [
        "artifacts that no version needs: older removed",
        f"environments that no artifact needs: {of_older} removed",
    ]


def test_killed_between_two_removals_the_next_sweep_ends_the_work(
    stage: Stage, author: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployed(stage, author)
    long_ago = stage.clock.now() - 9 * DAY
    place = environment(stage, UNUSED, long_ago).parent
    with monkeypatch.context() as patched:
        patched.setattr("kappa.verbs.retire.old_code.shutil.rmtree", _dies)
        with pytest.raises(KeyboardInterrupt):
            old_code.drop(stage.platform, stage.clock.now() - DAY)
    assert [one.name for one in place.iterdir()] == [f".gone-{UNUSED}"], "nobody finds half of one"
    environment(stage, UNUSED, long_ago)
    assert old_code.drop(stage.platform, stage.clock.now() - DAY) != [], "it was made again meanwhile"
    assert list(place.iterdir()) == []


def _dies(*_: object, **__: object) -> None:
    raise KeyboardInterrupt
