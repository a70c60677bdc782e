"""What a store promises, asked of a folder, of a bucket and of HDFS on real servers alike."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest

from kappa.core.store.check import check
from kappa.core.store.location import Location
from kappa.core.store.places import at
from tests.rigs.s3_server import BUCKET

NUMBERS = count()


@pytest.fixture(params=["folder", "s3", "hdfs"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    """An empty place in a store."""
    if request.param == "folder":
        return at(tmp_path) / "place"
    if request.param == "hdfs":
        return at(request.getfixturevalue("hdfs").format(f"place{next(NUMBERS)}"))
    return at(f"s3a://{BUCKET}/place{next(NUMBERS)}?endpoint={request.getfixturevalue('s3')}")


def test_what_is_written_is_read_and_listed(place: Location) -> None:
    (place / "offsets/0").write(b"one")
    (place / "offsets/1").write(b"second")
    (place / "metadata").write(b"me")
    assert (place / "offsets" / "1").read() == b"second"
    assert place.names() == {"offsets", "metadata"}
    assert (place / "offsets").names() == {"0", "1"}
    assert {name: file.size for name, file in place.files().items()} == {"metadata": 2, "offsets/0": 3, "offsets/1": 6}
    assert place.size() == 11
    assert ((place / "offsets/1").name, (place / "offsets/1").parent) == ("1", place / "offsets")


def test_what_is_not_there_holds_nothing_and_cannot_be_read_or_copied(place: Location) -> None:
    (place / "offsets1").write(b"of a name that begins alike")
    offsets = place / "offsets"
    assert (offsets.names(), offsets.files(), offsets.size(), offsets.exists()) == (set(), {}, 0, False)
    with pytest.raises(FileNotFoundError):
        (offsets / "0").read()
    with pytest.raises(FileNotFoundError):
        (offsets / "0").copy_to(offsets / "1")
    offsets.delete()
    offsets.remove(["0"])
    assert (place / "offsets1").exists()


def test_a_file_is_replaced_whole_and_changes_its_stamp(place: Location) -> None:
    (place / "1").write(b"before")
    was = place.files()["1"]
    (place / "1").write(b"behind")
    assert (place / "1").read() == b"behind"
    assert place.files()["1"].stamp != was.stamp
    assert place.names() == {"1"}


def test_a_second_create_is_refused_and_changes_nothing(place: Location) -> None:
    (place / "commits/7").create(b"first")
    with pytest.raises(FileExistsError):
        (place / "commits/7").create(b"second")
    assert (place / "commits/7").read() == b"first"
    assert (place / "commits").names() == {"7"}


def test_of_several_who_create_at_once_one_succeeds(place: Location) -> None:
    def create(number: int) -> bool:
        try:
            (place / "won").create(b"%d" % number)
        except FileExistsError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(create, range(8)))
    assert won.count(True) == 1
    assert (place / "won").read() == b"%d" % won.index(True)


@pytest.mark.parametrize("how", ["copy_to", "share_with"])
def test_a_copy_has_the_stamp_of_its_source_until_that_is_written_again(place: Location, how: str) -> None:
    source, target = place / "g1/state/0/1.zip", place / "g2/state/0/1.zip"
    source.write(b"state")
    target.write(b"older")
    getattr(source, how)(target)
    assert target.read() == b"state"
    assert (place / "g1").files() == (place / "g2").files()
    source.write(b"STATE")
    assert target.read() == b"state"
    assert (place / "g1").files() != (place / "g2").files()


def test_files_are_removed_and_a_folder_is_deleted_with_all_below(place: Location) -> None:
    for name in ("a/0", "a/1", "a/b/2", "ab"):
        (place / name).write(b"x")
    (place / "a").remove(["0", "b/2", "never"])
    assert set(place.files()) == {"a/1", "ab"}
    (place / "a").delete()
    assert not (place / "a").exists()
    assert set(place.files()) == {"ab"}
    (place / "ab").delete()
    assert place.files() == {}


def test_a_store_passes_its_check_and_keeps_nothing_of_it(place: Location) -> None:
    assert check(place) == []
    assert place.files() == {}
