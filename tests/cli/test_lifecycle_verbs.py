"""Code is built where Spark's hosts take it from; every other host knows of it by the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli import lifecycle_verbs
from cli.lifecycle_verbs import SharedFolderUnseen
from kappa.code import artifacts
from kappa.core.installation.settings import Settings
from tests.plugins.stages import edit, store_apart, write_checkout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return write_checkout(tmp_path / "checkout")


@pytest.fixture
def settings(tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """An installation of several hosts whose store is not its shared folder, with a checkout of a little code; nothing
    of it is old."""
    monkeypatch.setattr(lifecycle_verbs, "CHECKOUT", checkout)
    monkeypatch.setattr("cli.lifecycle_verbs.retiring.drop_code", lambda *_: [])
    (tmp_path / "shared").mkdir()
    return store_apart(Settings(tmp_path / "home"), tmp_path)


def test_what_is_built_on_one_host_is_deployed_from_another(settings: Settings, tmp_path: Path) -> None:
    made, new = lifecycle_verbs.build(settings)
    assert new
    settings.shared.rename(tmp_path / "elsewhere")
    assert lifecycle_verbs.digest(settings, "") == made.digest, "its own code, as it is installed here, too"
    assert lifecycle_verbs.digest(settings, made.digest[:6]) == made.digest


def test_it_is_not_built_where_the_folder_is_not_mounted(settings: Settings, checkout: Path, tmp_path: Path) -> None:
    """Also where the place for it is there, and empty."""
    lifecycle_verbs.build(settings)
    settings.shared.rename(tmp_path / "elsewhere")
    edit(checkout, "jobs/sinks.py", "SINK = 3", "SINK = 4")
    for _ in ("not there", "empty"):
        with pytest.raises(SharedFolderUnseen, match=r"does not see .*/shared, .*Nothing was built"):
            lifecycle_verbs.digest(settings, "")
        settings.shared.mkdir(exist_ok=True)
    assert not settings.artifacts.exists()


def test_the_first_one_is_built_in_an_empty_folder_and_once(settings: Settings) -> None:
    assert [lifecycle_verbs.build(settings)[1] for _ in range(2)] == [True, False]
    assert len(artifacts.known(settings.artifacts)) == 1
