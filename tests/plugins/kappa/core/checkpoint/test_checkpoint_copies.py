"""A copy of a checkpoint is whole, and that of a running one holds only what was committed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kappa.core.checkpoint.copies import complete, copy_running, link
from kappa.core.checkpoint.reader import Checkpoint
from kappa.core.store.places import at
from kappa.core.store.s3 import Bucket
from tests.jobs import streams
from tests.rigs.checkpoint_folders import folder_of, in_folder
from tests.rigs.s3_server import BUCKET


def _put(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A checkpoint with batch 1 committed and batch 2 under way."""
    root = tmp_path / "g1"
    _put(root, "metadata", "commits/0", "commits/.0.crc", "commits/1", "commits/.1.crc", "offsets/0", "offsets/1")
    _put(root, "offsets/2", "offsets/.2.crc", "offsets/.3.tmp", "sources/0/0", "state/0/_metadata/metadata")
    _put(root, "state/0/0/2.changelog", "state/0/0/3.changelog", "state/0/0/.3.changelog.crc", "state/0/0/3.zip")
    _put(root, "state/0/0/SSTs/0003-x.sst", "state/0/0/_metadata/schema")
    return root


def _kept(checkpoint: Path) -> dict[str, bytes]:
    """All files but temporary ones, with what they hold."""
    return {name: held for name, held in streams.files(checkpoint).items() if not name.endswith(".tmp")}


def test_a_copy_that_is_completed_is_what_it_is_made_from_but_for_temporary_files(source: Path, tmp_path: Path) -> None:
    complete(at(source), at(tmp_path / "g2"))
    assert streams.files(tmp_path / "g2") == _kept(source)


def test_what_changed_since_the_copy_was_begun_is_brought_up(source: Path, tmp_path: Path) -> None:
    """New batches, a batch that was done again under its old name, files purged, a file half-written when copied."""
    copy_running(at(source), at(tmp_path / "g2"))
    _put(
        source, "commits/2", "offsets/3", "state/0/0/4.changelog", "state/0/0/SSTs/0004-x.sst", "state/0/1/4.changelog"
    )
    (source / "state/0/0/2.changelog").write_text("state/0/0/2.CHANGELOG")
    (source / "offsets/1").write_text("OFFSETS/1")
    (source / "commits/0").unlink()
    shutil.rmtree(source / "sources")
    (tmp_path / "g2/state/0/0/SSTs/0003-x.sst").write_text("half")
    complete(at(source), at(tmp_path / "g2"))
    assert streams.files(tmp_path / "g2") == _kept(source)


def test_only_state_that_is_written_once_is_not_copied_again(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_running(at(source), at(tmp_path / "g2"))
    again: list[str] = []
    copyfile = shutil.copyfile

    def note(one: str, other: str) -> None:
        again.append(Path(one).name)
        copyfile(one, other)

    monkeypatch.setattr(shutil, "copyfile", note)
    complete(at(source), at(tmp_path / "g2"))
    assert {"0003-x.sst", "2.changelog"}.isdisjoint(again)
    assert {"1", "2", "3.changelog", "3.zip", "metadata", "schema"} <= set(again)


def test_a_file_replaced_while_it_is_copied_is_copied_again(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copyfile = shutil.copyfile

    def and_replace(one: str, other: str) -> None:
        copyfile(one, other)
        if Path(one).name == "2.changelog":
            Path(one).with_name("new").write_text(Path(one).read_text().upper())
            Path(one).with_name("new").rename(one)

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", and_replace)
        copy_running(at(source), at(tmp_path / "g2"))
    complete(at(source), at(tmp_path / "g2"))
    assert streams.files(tmp_path / "g2") == _kept(source)


@pytest.mark.parametrize("shares", [True, False])
def test_a_linked_copy_shares_only_what_is_written_once(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shares: bool
) -> None:
    """Where files cannot be shared they are copied."""
    if not shares:
        monkeypatch.setattr("os.link", _no_links)
    link(at(source), at(tmp_path / "copy"))
    assert streams.files(tmp_path / "copy") == streams.files(source)
    shared = {name for name in streams.files(source) if (tmp_path / "copy" / name).samefile(source / name)}
    once = {"state/0/0/2.changelog", "state/0/0/3.changelog", "state/0/0/3.zip", "state/0/0/SSTs/0003-x.sst"}
    assert shared == (once if shares else set())


def _no_links(_one: str, _other: str) -> None:
    raise OSError("not supported")


def test_a_copy_that_fails_says_so_and_leaves_nothing_to_the_next(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_one: str, _other: str) -> None:
        raise OSError("disk full")

    _put(tmp_path / "g2", "left/by/a/killed/try", "commits/7")
    monkeypatch.setattr(shutil, "copyfile", fail)
    with pytest.raises(OSError, match="disk full"):
        copy_running(at(source), at(tmp_path / "g2"))
    monkeypatch.undo()
    copy_running(at(source), at(tmp_path / "g2"))
    assert in_folder(tmp_path / "g2").newest_committed() == 1
    assert not (tmp_path / "g2" / "left").exists()


def test_the_copy_of_a_running_checkpoint_ends_with_its_newest_commit(source: Path, tmp_path: Path) -> None:
    copy_running(at(source), at(tmp_path / "copy"))
    copied = in_folder(tmp_path / "copy")
    assert (copied.newest_planned(), copied.newest_committed()) == (1, 1)
    left = set(streams.files(source)) - set(streams.files(folder_of(copied)))
    assert left == {
        "offsets/2",
        "offsets/.2.crc",
        "offsets/.3.tmp",
        "state/0/0/3.changelog",
        "state/0/0/.3.changelog.crc",
        "state/0/0/3.zip",
    }


def test_a_batch_that_ends_while_it_is_copied_is_not_half_copied(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is added between two files, each commit of the copy has its offsets and its state."""
    copyfile, batch = shutil.copyfile, iter(range(2, 99))

    def and_a_batch_ends(one: str, other: str) -> None:
        copyfile(one, other)
        number = next(batch)
        _put(source, f"offsets/{number}", f"state/0/0/{number + 1}.changelog", f"commits/{number}")

    monkeypatch.setattr(shutil, "copyfile", and_a_batch_ends)
    copy_running(at(source), at(tmp_path / "copy"))
    names = set(streams.files(tmp_path / "copy"))
    newest = in_folder(tmp_path / "copy").newest_committed()
    assert newest is not None
    assert in_folder(tmp_path / "copy").newest_planned() == newest
    assert f"state/0/0/{newest + 1}.changelog" in names
    assert f"state/0/0/{newest + 2}.changelog" not in names


def test_a_snapshot_is_seen_before_the_parts_that_it_names(source: Path) -> None:
    """Spark uploads the parts first: a snapshot that is seen has all of its parts among what is seen after it."""
    _put(source, "state/0/0/2.zip")
    seen = list(at(source / "state").files())
    assert seen.index("0/0/2.zip") < seen.index("0/0/SSTs/0003-x.sst")


def test_what_is_removed_while_it_is_copied_is_left_out(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copyfile = shutil.copyfile

    def purge(one: str, other: str) -> None:
        if Path(one).name == "2.changelog":
            Path(one).unlink()
        copyfile(one, other)

    monkeypatch.setattr(shutil, "copyfile", purge)
    copy_running(at(source), at(tmp_path / "copy"))
    assert "state/0/0/2.changelog" not in streams.files(tmp_path / "copy")


def test_the_copy_of_a_checkpoint_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    copy_running(at(tmp_path / "nothing"), at(tmp_path / "copy"))
    assert at(tmp_path / "copy").files() == {}


def test_in_a_bucket_a_copy_is_begun_and_completed_alike(
    source: Path, s3: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is the same by its ETag is not copied again; one that changed at the same size is."""
    store = at(f"s3a://{BUCKET}/copies?endpoint={s3}")
    running, target = store / "g1", store / "g2"
    for name, held in streams.files(source).items():
        (running / name).write(held)
    (target / "left/by/a/killed/try").write(b"x")
    copy_running(running, target)
    assert (Checkpoint(target).newest_planned(), Checkpoint(target).newest_committed()) == (1, 1)
    assert "left" not in target.names()
    (running / "state/0/0/2.changelog").write(b"state/0/0/2.CHANGELOG")
    again: list[str] = []
    copy = Bucket.copy

    def note(bucket: Bucket, one: str, other: str) -> None:
        again.append(one)
        copy(bucket, one, other)

    monkeypatch.setattr(Bucket, "copy", note)
    complete(running, target)
    copied = {name: (target / name).read() for name in target.files()}
    assert copied == {name: (running / name).read() for name in running.files() if not name.endswith(".tmp")}
    assert "copies/g1/state/0/0/2.changelog" in again
    assert "copies/g1/state/0/0/SSTs/0003-x.sst" not in again
