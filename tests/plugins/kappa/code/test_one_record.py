"""What an artifact makes of a record: said by its own code, in a process that has no secret and ends in time."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest

from cli.entry import CHECKOUT
from kappa.code import artifacts
from kappa.code.artifacts import Artifact
from kappa.code.one_record import NoVerdict, ask, surroundings
from kappa.core.job_catalog import find, resolve
from stack.waiting import until

NOON = 1_800_000_000_000
EVENT = {
    "event_id": "0f8fad5b-d9cb-469f-a165-70867728950e", "event_type": "click", "slot_id": "s", "client_id": "c1",
    "ad_id": "a1", "user_id": "u", "event_time": NOON, "cost_micros": 5,
}  # fmt: skip
FIRST_LINE = "if value is None:"
STRICTER = f"if b'c1' in (value or b''):\n        return NOTHING, 'c1 is not served any more'\n    {FIRST_LINE}"


def question(value: bytes | None, append_ms: int = NOON + 1_000) -> dict[str, Any]:
    record = {"partition": 0, "offset": 7, "append_ms": append_ms, "stamped": True, "key": b"u".hex(),
              "value": None if value is None else value.hex()}  # fmt: skip
    return {"record": record, "settings": resolve(find("ad_ctr"), {}), "starts_at_ms": None}


def built(folder: Path, change: tuple[str, str] | None = None) -> Artifact:
    """An artifact of the checkout's code, or of that code with one change."""
    artifacts.copy_sources(CHECKOUT, folder / "code")
    if change:
        file = folder / "code" / "jobs" / "transforms" / "decode.py"
        file.write_text(file.read_text().replace(*change, 1))
    return artifacts.build(folder / "code", folder / "artifacts", datetime.now(UTC))


def program(folder: Path, text: str) -> Path:
    """A checkout whose program does something else."""
    (folder / "jobs").mkdir()
    (folder / "jobs" / "one_record.py").write_text(text)
    return folder


@pytest.fixture
def artifact(tmp_path: Path) -> Artifact:
    return Artifact(tmp_path / "artifact", "ab12", datetime.now(UTC), None, {})


@pytest.mark.long(minutes=2)
@pytest.mark.rig
def test_it_is_the_artifacts_own_code_that_speaks(tmp_path: Path) -> None:
    value = json.dumps(EVENT).encode()
    accepted = ask(CHECKOUT, built(tmp_path / "as it is"), question(value))
    assert (accepted.fate, (accepted.event or {})["client_id"]) == (None, "c1")
    other = built(tmp_path / "stricter", (FIRST_LINE, STRICTER))
    refused = ask(CHECKOUT, other, question(value))
    assert (refused.fate, refused.reason, refused.event) == ("dead_letter", "c1 is not served any more", None)


@pytest.mark.long(minutes=2)
@pytest.mark.rig
def test_the_settings_are_those_of_the_version(tmp_path: Path) -> None:
    late = question(json.dumps(EVENT).encode(), NOON + 7_200_001)
    assert ask(CHECKOUT, built(tmp_path), late).fate == "late"


def test_what_goes_wrong_is_told_by_its_last_line(tmp_path: Path, artifact: Artifact) -> None:
    checkout = program(tmp_path, "raise ImportError('no with_fate')")
    with pytest.raises(NoVerdict, match=r"artifact ab12 said nothing .*: ImportError: no with_fate\. Nothing was"):
        ask(checkout, artifact, {})


def test_who_takes_too_long_is_ended_with_all_that_he_began(tmp_path: Path, artifact: Artifact) -> None:
    started = tmp_path / "child"
    script = (
        "import subprocess\nchild = subprocess.Popen(['sleep', '300'])\n"
        f"open({str(started)!r}, 'w').write(str(child.pid))\nchild.wait()"
    )
    checkout = program(tmp_path, script)
    began = time.monotonic()
    with pytest.raises(NoVerdict, match="it was ended after 2 s"):
        ask(checkout, artifact, {}, seconds=2)
    assert time.monotonic() - began < 30
    assert until(lambda: _is_dead(int(started.read_text())), 10), "what it had begun goes on"


def _is_dead(pid: int) -> bool:
    """Whether it has ended; who was killed may be there for a moment yet."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_it_has_little_memory_and_knows_no_secret(
    tmp_path: Path, artifact: Artifact, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "secret")
    checkout = program(tmp_path, "import resource, os, sys\nheld = bytearray(6 * 2**30)")
    with pytest.raises(NoVerdict, match="MemoryError"):
        ask(checkout, artifact, {})
    assert "PGPASSWORD" not in surroundings(artifact.folder, str(tmp_path))
