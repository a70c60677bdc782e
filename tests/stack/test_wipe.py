"""`down --wipe` deletes the state of a stack of ours and nothing else, whatever KAPPA_HOME names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli.entry import CHECKOUT
from kappa.core.installation.settings import Settings
from stack import down
from stack.down import ENTRIES, KEPT, NotOurs, check_ours, wipe
from stack.provisioning import log_access
from stack.services import passwords
from tests.rigs.running_stack import Stack

FOLDERS = ("stack", "jobs", "plugins", "cli")


def made(home: Path, *names: str) -> Path:
    """A folder with something in each of its folders."""
    for name in names:
        (home / name).mkdir(parents=True)
        (home / name / "held").write_text("x")
    return home


def state(home: Path) -> Path:
    """A state folder, as `up` leaves one."""
    made(home, *(set(ENTRIES) - {"secrets"}), "jars", "cache", "uv")
    passwords.make(Settings(home))
    return home


def left(home: Path) -> set[str]:
    """Every file below a folder."""
    return {str(file.relative_to(home)) for file in home.rglob("*") if file.is_file()}


def test_the_state_goes_and_downloads_stay(tmp_path: Path) -> None:
    home = state(tmp_path / "state")
    wipe(Settings(home), Path.cwd(), lambda _: None)
    assert {entry.name for entry in home.iterdir()} == {"uv", "cache", "jars", "lock"} <= set(KEPT)


@pytest.mark.parametrize(
    "names",
    [("documents",), ("run", "logs", "cache", "spark"), ("postgres", "kafka"), ("secrets",), ("cache", "uv")],
)
def test_a_folder_that_is_no_state_folder_is_left_alone(tmp_path: Path, names: tuple[str, ...]) -> None:
    home = made(tmp_path / "of_others", *names)
    before = left(home)
    if set(names) <= set(KEPT):
        wipe(Settings(home), Path.cwd(), lambda _: None)
    else:
        with pytest.raises(NotOurs, match="KAPPA_HOME"):
            wipe(Settings(home), Path.cwd(), lambda _: None)
    assert left(home) - {"lock"} == before


def test_what_lies_beside_the_state_is_named_and_nothing_is_deleted(tmp_path: Path) -> None:
    home = state(tmp_path / "state")
    (home / "thesis.txt").write_text("x")
    before = left(home)
    with pytest.raises(NotOurs, match=r"thesis\.txt"):
        wipe(Settings(home), Path.cwd(), lambda _: None)
    assert left(home) == before


def test_all_that_the_code_writes_into_a_state_folder_is_known() -> None:
    sources = [file.read_text() for folder in FOLDERS for file in (CHECKOUT / folder).rglob("*.py")]
    written = {
        name for text in sources for name in re.findall(r'(?:settings|self)\.(?:home|shared|store) / "([^"]+)"', text)
    }
    assert {"checkpoints", "secrets", "work"} <= written
    assert written <= {*ENTRIES, *KEPT}


@pytest.mark.integration
def test_a_stack_that_runs_has_nothing_in_its_folder_that_a_wipe_does_not_know(deployed: Stack) -> None:
    check_ours(deployed.settings)


def test_what_terraform_has_left_goes_with_the_data(tmp_path: Path) -> None:
    home = made(state(tmp_path / "state"), f"{log_access.FOLDER}/targets")
    wipe(Settings(home), Path.cwd(), lambda _: None)
    assert not (home / log_access.FOLDER).exists()


def test_a_wipe_that_was_cut_short_can_be_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = state(tmp_path / "state")
    gone: list[str] = []

    def interrupted(entry: Path) -> None:
        if len(gone) == 5:
            raise KeyboardInterrupt
        gone.append(entry.name)
        remove(entry)

    remove = down._remove
    with monkeypatch.context() as patched:
        patched.setattr(down, "_remove", interrupted)
        with pytest.raises(KeyboardInterrupt):
            wipe(Settings(home), Path.cwd(), lambda _: None)
    wipe(Settings(home), Path.cwd(), lambda _: None)
    assert {entry.name for entry in home.iterdir()} <= set(KEPT)


def test_a_link_to_elsewhere_goes_and_what_it_names_stays(tmp_path: Path) -> None:
    home, elsewhere = state(tmp_path / "state"), made(tmp_path / "disk", "kafka")
    for file in (home / "kafka").iterdir():
        file.unlink()
    (home / "kafka").rmdir()
    (home / "kafka").symlink_to(elsewhere / "kafka")
    wipe(Settings(home), Path.cwd(), lambda _: None)
    assert left(elsewhere) == {"kafka/held"}
    assert not (home / "kafka").is_symlink()
