"""Where the tests of `./kappa test` put their files: in memory if it can hold them, and only those of a plain run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from cli.commands import test as testing
from cli.suite import WORKING_BYTES, WRITTEN_BYTES, Part, Run, Step, holds_files, memory_for_files

NEEDED = WRITTEN_BYTES + WORKING_BYTES


@pytest.mark.parametrize(
    ("kind", "runs", "free_bytes", "memory_bytes", "holds"),
    [
        ("tmpfs", True, WRITTEN_BYTES, NEEDED, True),
        ("tmpfs", False, WRITTEN_BYTES, NEEDED, False),
        ("tmpfs", True, WRITTEN_BYTES - 1, NEEDED, False),
        ("tmpfs", True, WRITTEN_BYTES, NEEDED - 1, False),
        ("ext4", True, WRITTEN_BYTES, NEEDED, False),
        (None, True, WRITTEN_BYTES, NEEDED, False),
    ],
)
def test_it_takes_a_tmpfs_with_room_on_a_machine_with_memory(
    kind: str | None, runs: bool, free_bytes: int, memory_bytes: int, holds: bool
) -> None:
    assert holds_files(kind, runs, free_bytes, memory_bytes) is holds


def test_a_folder_that_is_not_there_or_no_file_system_is_none(tmp_path: Path) -> None:
    assert memory_for_files(tmp_path / "nowhere") is None
    assert memory_for_files(tmp_path) is None


@pytest.mark.parametrize("files", [True, False])
def test_a_part_puts_its_files_where_it_is_told_or_where_all_programs_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: bool
) -> None:
    monkeypatch.setenv("TMPDIR", "/usual")
    one = Run(Part("a", [Step("s", ["sh", "-c", "echo $TMPDIR"])]), tmp_path, tmp_path, tmp_path if files else None)
    one.finish(time.monotonic() + 60)
    assert one.output.read_text() == f"{tmp_path if files else '/usual'}\n"


@pytest.mark.parametrize(
    ("options", "in_memory"), [([], True), (["--long"], False), (["--provisioning"], False), (["--", "-x"], False)]
)
def test_only_a_plain_run_is_known_to_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: Sequence[str], in_memory: bool
) -> None:
    """Long tests write tens of gigabytes."""
    told: list[tuple[Path, Path | None]] = []

    def taken(_: object, folder: Path, files: Path | None) -> int:
        told.append((folder, files))
        return 0

    monkeypatch.setattr(testing, "memory_for_files", lambda: tmp_path)
    monkeypatch.setattr(testing, "parts", lambda *_: [])
    monkeypatch.setattr(testing, "applied", lambda *_: [])
    monkeypatch.setattr(testing, "run", taken)
    app = typer.Typer()
    testing.register(app)
    assert CliRunner().invoke(app, options).exit_code == 0
    ((folder, files),) = told
    assert (folder.parent == tmp_path, files == folder) == (in_memory, in_memory)
    assert not folder.exists(), "it is gone with the run"
