"""`explain --record`: what is asked of which version's code, and what people are told of its answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli import entry
from cli.commands import explain_record
from cli.commands.explain_record import NotOneRecord, RecordGone, question, read, sentence, show
from kappa.code.one_record import Verdict
from kappa.core.installation.settings import Settings
from oracle.decode import LogRecord
from tests.jobs.held_log import VERSION

RECORD = LogRecord(0, 17, 1_000, True, b"u", b"\xff")


class Held:
    """A log of one partition that holds the offsets 10 to 19."""

    def __init__(self, *_: object) -> None:
        pass

    def bounds(self) -> dict[int, tuple[int, int]]:
        return {0: (10, 20)}

    def stretch(self, starts: dict[int, int], ends: dict[int, int], until_ms: int) -> object:
        assert (starts, ends, until_ms > 2**60) == ({0: 17}, {0: 18}, True)
        return iter([RECORD])


@pytest.mark.parametrize(("record", "version"), [("17", 2), ("0/17", None), (None, 2), ("0/-1", 2), ("a/b", 2)])
def test_a_record_is_named_by_partition_and_offset_and_goes_with_a_version(
    tmp_path: Path, record: str | None, version: int | None
) -> None:
    with pytest.raises(NotOneRecord, match="--record 0/17 --version 2"):
        show(Settings(tmp_path), "ad_ctr", record, version, False)


def test_what_is_asked_are_the_bytes_of_the_log_and_the_settings_of_the_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(explain_record, "_log", Held)
    found = read(Settings(tmp_path), "ad_events", "0/17")
    assert question(found, VERSION) == {
        "record": {"partition": 0, "offset": 17, "append_ms": 1_000, "stamped": True, "key": "75", "value": "ff"},
        "settings": dict(VERSION.settings), "starts_at_ms": VERSION.starts_at_ms,
    }  # fmt: skip
    for place in ("0/9", "0/20", "1/17"):
        with pytest.raises(RecordGone, match=f"the log has no record {place}"):
            read(Settings(tmp_path), "ad_events", place)
    assert entry.CHECKOUT.joinpath("jobs", "one_record.py").exists()


def test_the_verdict_says_no_more_than_the_record_alone_decides() -> None:
    assert sentence(Verdict("dead_letter", "not JSON", None)) == "refused as dead_letter: not JSON"
    assert sentence(Verdict("late", None, {})) == "refused as late"
    assert sentence(Verdict(None, None, {})) == "accepted: it counts, unless it repeats a record that came before it"
