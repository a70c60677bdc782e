"""What a host knows of artifacts: from their folders where it sees the shared folder, from the store where not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kappa.code import artifacts, known_artifacts
from kappa.code.artifacts import UnknownArtifact
from kappa.core.artifact_files import TamperedArtifact
from kappa.core.audit import Author
from kappa.core.environment import MANIFEST
from kappa.core.installation.addresses import Places, Postgres
from kappa.core.installation.settings import Settings
from kappa.core.requests.lifecycle import DeployRequest
from kappa.core.store.location import Location
from kappa.verbs.deploy import steps as deploying
from kappa.verbs.deploy.observation import plan_deploy
from kappa.verbs.retire import old_code
from tests.plugins.conftest import Stage
from tests.plugins.fakes import NOON
from tests.plugins.stages import edit, store_apart

Unmount = Callable[[], None]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """An installation of several hosts whose store is not its shared folder."""
    return store_apart(Settings(tmp_path / "home"), tmp_path)


@pytest.fixture
def unmount(settings: Settings, tmp_path: Path) -> Unmount:
    """From its call on this host does not see the shared folder."""

    def unmount() -> None:
        settings.shared.rename(tmp_path / "elsewhere")

    return unmount


def test_a_host_that_does_not_see_the_folder_knows_as_much_of_an_artifact(
    settings: Settings, unmount: Unmount, checkout: Path
) -> None:
    built = artifacts.build(checkout, settings.artifacts, NOON)
    known_artifacts.publish(settings)
    assert known_artifacts.known(settings) == [built]
    unmount()
    assert known_artifacts.known(settings) == [built], "its folder among it: that of Spark's hosts"
    assert known_artifacts.find_whole(settings, built.digest[:8]) == built
    with pytest.raises(UnknownArtifact, match=rf"there is no artifact 'zz' \(known: {built.digest}\)"):
        known_artifacts.find(settings, "zz")


def test_of_several_the_newest_is_last_and_each_is_written_once(
    settings: Settings, unmount: Unmount, checkout: Path
) -> None:
    first = artifacts.build(checkout, settings.artifacts, NOON)
    known_artifacts.publish(settings)
    written = (settings.store / "artifacts").files()
    assert sorted(written) == [f"{first.digest}.json", f"{first.digest}.zip"]
    edit(checkout, "jobs/sinks.py", "SINK = 3", "SINK = 4")
    second = artifacts.build(checkout, settings.artifacts, NOON.replace(hour=13))
    known_artifacts.publish(settings)
    after = (settings.store / "artifacts").files()
    assert {name: after[name] for name in written} == written
    unmount()
    assert [one.digest for one in known_artifacts.known(settings)] == [first.digest, second.digest]
    assert known_artifacts.find(settings, "").digest == second.digest


def test_files_are_looked_at_where_they_are_seen(settings: Settings, unmount: Unmount, checkout: Path) -> None:
    built = artifacts.build(checkout, settings.artifacts, NOON)
    known_artifacts.publish(settings)
    file = built.folder / "jobs" / "run.py"
    file.chmod(0o644)
    file.write_text("print('another')\n")
    with pytest.raises(TamperedArtifact):
        known_artifacts.find_whole(settings, built.digest)
    unmount()
    assert known_artifacts.find_whole(settings, built.digest) == built, "its driver refuses"


def test_a_file_is_read_from_the_folder_or_from_the_copy(settings: Settings, unmount: Unmount, checkout: Path) -> None:
    built = artifacts.build(checkout, settings.artifacts, NOON)
    known_artifacts.publish(settings)
    for seen in (True, False):
        assert known_artifacts.source(settings, built.digest, "jobs/outcome.py") == "ARGUMENT = '--attempt'\n"
        assert known_artifacts.source(settings, built.digest, "jobs/of_tomorrow.py") is None
        assert known_artifacts.source(settings, "0ld", "jobs/outcome.py") is None
        if seen:
            unmount()


def test_files_are_at_hand_everywhere_and_are_those_of_the_build(
    settings: Settings, unmount: Unmount, checkout: Path
) -> None:
    built = artifacts.build(checkout, settings.artifacts, NOON)
    known_artifacts.publish(settings)
    with known_artifacts.at_hand(settings, built) as there:
        assert there == built
    unmount()
    with known_artifacts.at_hand(settings, built) as there:
        assert there.folder != built.folder
        assert (there.folder / "jobs" / "run.py").read_text() == "print('driver')\n"
    assert not there.folder.exists()
    other = {**built.environment, "numpy": "0.1"}
    with pytest.raises(TamperedArtifact), known_artifacts.at_hand(settings, replace(built, environment=other)):
        pass


def test_one_that_is_deleted_while_it_is_read_is_none(
    settings: Settings, unmount: Unmount, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = artifacts.build(checkout, settings.artifacts, NOON)
    known_artifacts.publish(settings)
    unmount()
    monkeypatch.setattr(Location, "names", lambda _: {"gone.json", f"{built.digest}.json"})
    assert known_artifacts.known(settings) == [built]


def test_where_all_hosts_have_to_see_the_folder_nothing_is_copied(settings: Settings, checkout: Path) -> None:
    for one in (
        replace(settings, places=Places(shared=settings.places.shared)),
        replace(settings, postgres=Postgres(), places=Places(store=settings.places.store)),
    ):
        artifacts.build(checkout, one.artifacts, NOON)
        known_artifacts.publish(one)
        assert not {name for name in (one.store / "artifacts").names() if "." in name}
        assert known_artifacts.sees_files(replace(one, places=Places(shared="/no/such")))


def test_a_deployment_from_there_starts_what_one_that_sees_the_folder_would(
    stage: Stage, author: Author, settings: Settings, unmount: Unmount
) -> None:
    stage.share(settings.shared)
    platform = replace(stage.platform, settings=replace(settings, home=stage.platform.settings.home))
    built = known_artifacts.known(settings)[0]
    known_artifacts.publish(settings)
    seen = plan_deploy(platform, DeployRequest("ad_ctr"))
    unmount()
    plan = plan_deploy(platform, DeployRequest("ad_ctr"))
    assert plan == seen
    deploying.carry_out(platform, plan, author, lambda _: None)
    [(submitted, _)] = stage.cluster.submissions.values()
    assert submitted.arguments[0] == f"{settings.artifacts}/{built.digest}/jobs/run.py"
    assert submitted.jars == f"{settings.jars}/*.jar"


def test_who_sees_the_folder_drops_an_artifact_with_its_copy_and_who_does_not_drops_nothing(
    stage: Stage, settings: Settings, unmount: Unmount, checkout: Path
) -> None:
    old = artifacts.build(checkout, settings.artifacts, NOON.replace(year=2001))
    edit(checkout, "jobs/sinks.py", "SINK = 3", "SINK = 4")
    kept = artifacts.build(checkout, settings.artifacts, NOON)
    known_artifacts.publish(settings)
    platform = replace(stage.platform, settings=settings)
    assert old_code.drop(platform, NOON) == [f"artifacts that no version needs: {old.digest} removed"]
    assert (settings.store / "artifacts").names() == {f"{kept.digest}.json", f"{kept.digest}.zip"}
    assert not (old.folder / MANIFEST).exists()
    unmount()
    assert old_code.drop(platform, NOON) == []
    assert known_artifacts.known(settings) == [kept]
