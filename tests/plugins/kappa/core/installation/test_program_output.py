"""A program cuts its own output once an hour, and goes on writing to it."""

from __future__ import annotations

from pathlib import Path

from kappa.core.installation.program_output import HOUR_SECONDS, OwnOutput


def test_a_program_cuts_its_own_output_once_an_hour(tmp_path: Path) -> None:
    own, output = OwnOutput(tmp_path, 100), tmp_path / "stdout"
    with output.open("ab", buffering=0) as program:
        program.write(b"a" * 150 + b"b" * 50)
        own.look(0.0)
        program.write(b"c" * 150)
        own.look(HOUR_SECONDS - 1)
        assert output.read_bytes() == b"c" * 150
        assert output.with_name("stdout.1").read_bytes() == b"a" * 50 + b"b" * 50
        own.look(HOUR_SECONDS)
        program.write(b"d")
    assert output.read_bytes() == b"d"
    assert output.with_name("stdout.1").read_bytes() == b"c" * 100


def test_what_is_short_or_not_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "stderr").write_bytes(b"a" * 100)
    OwnOutput(tmp_path, 100).look(0.0)
    assert [file.name for file in tmp_path.iterdir()] == ["stderr"]


def test_a_disk_that_takes_no_copy_ends_nothing(tmp_path: Path) -> None:
    (tmp_path / "stdout").write_bytes(b"a" * 200)
    (tmp_path / "stdout.part").mkdir()
    OwnOutput(tmp_path, 100).look(0.0)
    assert (tmp_path / "stdout").stat().st_size == 200
