"""How Spark keeps its files in a bucket: which settings it is given, and what the checkpoint file manager promises."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from jobs import session
from kappa.core.store.location import Location
from kappa.core.store.places import FOLDER, at
from kappa.core.store.s3 import Bucket
from tests.jobs import streams
from tests.rigs.s3_server import BUCKET, KEYS, files_in

NUMBERS = count()


@pytest.fixture
def place(spark: SparkSession, s3: str) -> Iterator[Location]:
    """An empty place in a bucket that the session can use."""
    place = at(f"s3a://{BUCKET}/files{next(NUMBERS)}?endpoint={s3}")
    with files_in(spark, place.store):
        yield place


def test_a_folder_has_the_files_of_a_file_system() -> None:
    (manager,) = session.files(FOLDER).values()
    assert manager.endswith(".FileSystemBasedCheckpointFileManager")


def test_a_bucket_of_aws_is_told_by_its_region_and_by_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    told = session.files(Bucket("b", region="eu-west-1"))
    assert told["spark.hadoop.fs.s3a.endpoint.region"] == "eu-west-1"
    assert "spark.hadoop.fs.s3a.endpoint" not in told
    assert not set(KEYS.values()) & set(told.values())


@pytest.mark.parametrize(("endpoint", "encrypted"), [("http://127.0.0.1:1", "false"), ("https://s3.here", "true")])
def test_another_server_is_told_by_its_endpoint(endpoint: str, encrypted: str) -> None:
    told = session.files(Bucket("b", endpoint))
    assert told["spark.hadoop.fs.s3a.endpoint"] == endpoint
    assert told["spark.hadoop.fs.s3a.path.style.access"] == "true"
    assert told["spark.hadoop.fs.s3a.connection.ssl.enabled"] == encrypted


def test_of_two_who_write_one_file_the_second_is_told_that_it_lost(spark: SparkSession, place: Location) -> None:
    files, path = _files(spark, place), _path(spark, place / "offsets/7")
    first, second = (files.createAtomic(path, False) for _ in range(2))
    for stream, said in ((first, b"first"), (second, b"second")):
        stream.write(bytearray(said))
    first.close()
    with pytest.raises(Py4JJavaError, match="FileAlreadyExistsException"):
        second.close()
    assert (place / "offsets/7").read() == b"first"


def test_what_may_be_overwritten_is(spark: SparkSession, place: Location) -> None:
    files, path = _files(spark, place), _path(spark, place / "state/1.zip")
    for said in (b"first", b"second"):
        stream = files.createAtomic(path, True)
        stream.write(bytearray(said))
        stream.close()
    assert (place / "state/1.zip").read() == b"second"


def test_a_put_that_fails_is_an_error(spark: SparkSession, place: Location) -> None:
    elsewhere = Location(Bucket("no-such-bucket"), "offsets/0")
    stream = _files(spark, elsewhere).createAtomic(_path(spark, elsewhere), False)
    with pytest.raises(Py4JJavaError, match="UnknownStoreException"):
        stream.close()


def test_what_is_cancelled_is_not_put(spark: SparkSession, place: Location) -> None:
    stream = _files(spark, place).createAtomic(_path(spark, place / "offsets/0"), False)
    stream.write(bytearray(b"half"))
    stream.cancel()
    stream.close()
    assert not place.exists()


def test_folders_are_nothing_and_list_as_empty(spark: SparkSession, place: Location, s3: str) -> None:
    files = _files(spark, place)
    files.mkdirs(_path(spark, place / "offsets"))
    assert list(files.list(_path(spark, place / "offsets"))) == []
    assert not files.exists(_path(spark, place / "offsets"))


def test_a_query_goes_on_from_its_checkpoint_in_a_bucket(spark: SparkSession, place: Location, tmp_path: Path) -> None:
    source, seen = tmp_path / "source", []

    def take(frame: Any, batch_id: int) -> None:
        seen.append((batch_id, frame.toArrow().num_rows))

    for window in range(2):
        streams.add(spark, source, [streams.event(window, window)])
        streams.run(streams.writer(spark, source, Path("/unused"), take).option("checkpointLocation", str(place)))
    assert seen == [(0, 1), (1, 1)]
    assert place.names() >= {"metadata", "offsets", "commits", "state"}
    assert (place / "commits").names() == {"0", "1"}
    assert not [name for name in place.files() if ".tmp" in name]


def _files(spark: SparkSession, place: Location) -> Any:
    """The file manager of a place, with the session's settings."""
    jvm: Any = spark._jvm
    configuration = spark._jsparkSession.sessionState().newHadoopConf()
    return jvm.kappa.ConditionalCheckpointFileManager(_path(spark, place), configuration)


def _path(spark: SparkSession, place: Location) -> Any:
    jvm: Any = spark._jvm
    return jvm.org.apache.hadoop.fs.Path(str(place))
