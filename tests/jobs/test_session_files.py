"""How Spark keeps its files in a folder, a bucket and HDFS: by which settings, and what the managers promise."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
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
_IN_FOLDER, _IN_BUCKET = "kappa.FolderCheckpointFileManager", "kappa.ConditionalCheckpointFileManager"
_FILE_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
_SPARKS_OWN = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"


@pytest.fixture
def place(spark: SparkSession, s3: str) -> Iterator[Location]:
    """An empty place in a bucket that the session can use."""
    place = at(f"s3a://{BUCKET}/files{next(NUMBERS)}?endpoint={s3}")
    with files_in(spark, place.store):
        yield place


def test_a_folder_has_the_files_of_a_file_system() -> None:
    (manager,) = session.files(FOLDER).values()
    assert manager == "kappa.FolderCheckpointFileManager"


def test_a_file_in_a_folder_starts_no_process_and_is_as_sparks_own(spark: SparkSession, tmp_path: Path) -> None:
    """Hadoop starts one to set permissions: so does Spark's own manager, in the same JVM."""
    own, started = _kept(spark, tmp_path / "own", _IN_FOLDER)
    sparks, started_by_spark = _kept(spark, tmp_path / "spark", _SPARKS_OWN)
    assert own == sparks
    assert started == []
    assert started_by_spark != []


def test_what_is_in_a_folder_already_is_not_overwritten(spark: SparkSession, tmp_path: Path) -> None:
    files = _files(spark, tmp_path, _IN_FOLDER)
    _write(spark, files, tmp_path / "7", b"first")
    with pytest.raises(Py4JJavaError, match="FileAlreadyExistsException"):
        _write(spark, files, tmp_path / "7", b"second")
    assert (tmp_path / "7").read_bytes() == b"first"


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
    _the_second_loses(spark, place / "offsets/7")


def test_what_may_be_overwritten_is(spark: SparkSession, place: Location) -> None:
    files, path = _files(spark, place), _path(spark, place / "state/1.zip")
    for said in (b"first", b"second"):
        stream = files.createAtomic(path, True)
        stream.write(bytearray(said))
        stream.close()
    assert (place / "state/1.zip").read() == b"second"


def test_in_hdfs_the_second_of_two_is_told_that_it_lost(spark: SparkSession, hdfs: str) -> None:
    place = at(hdfs.format("files/offsets/7"))
    with files_in(spark, place.store):
        _the_second_loses(spark, place)


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
    _goes_on(spark, place, tmp_path / "source")


def test_a_query_goes_on_from_its_checkpoint_in_hdfs(spark: SparkSession, hdfs: str, tmp_path: Path) -> None:
    place = at(hdfs.format("query"))
    with files_in(spark, place.store):
        _goes_on(spark, place, tmp_path / "source")


def _goes_on(spark: SparkSession, place: Location, source: Path) -> None:
    """Two runs of one query, of a batch each, and what is in its checkpoint then."""
    seen: list[tuple[int, int]] = []

    def take(frame: Any, batch_id: int) -> None:
        seen.append((batch_id, frame.toArrow().num_rows))

    for window in range(2):
        streams.add(spark, source, [streams.event(window, window)])
        streams.run(streams.writer(spark, source, Path("/unused"), take).option("checkpointLocation", str(place)))
    assert seen == [(0, 1), (1, 1)]
    assert place.names() >= {"metadata", "offsets", "commits", "state"}
    assert (place / "commits").names() == {"0", "1"}
    assert not [name for name in place.files() if ".tmp" in name]


def _the_second_loses(spark: SparkSession, file: Location) -> None:
    """Two begin a file that nobody may overwrite, by the manager of its store, and end it one after the other."""
    files, path = _files(spark, file, session.files(file.store)[_FILE_MANAGER]), _path(spark, file)
    files.mkdirs(path.getParent())
    first, second = (files.createAtomic(path, False) for _ in range(2))
    for stream, said in ((first, b"first"), (second, b"second")):
        stream.write(bytearray(said))
    first.close()
    with pytest.raises(Py4JJavaError, match="FileAlreadyExistsException"):
        second.close()
    assert file.read() == b"first"


def _files(spark: SparkSession, place: Location | Path, name: str = _IN_BUCKET) -> Any:
    """The file manager of that name for a place, with the session's settings."""
    jvm: Any = spark._jvm
    configuration = spark._jsparkSession.sessionState().newHadoopConf()
    return reduce(getattr, name.split("."), jvm)(_path(spark, place), configuration)


def _path(spark: SparkSession, place: Location | Path) -> Any:
    jvm: Any = spark._jvm
    return jvm.org.apache.hadoop.fs.Path(str(place))


def _write(spark: SparkSession, files: Any, file: Path, content: bytes) -> None:
    stream = files.createAtomic(_path(spark, file), False)
    stream.write(bytearray(content))
    stream.close()


def _kept(spark: SparkSession, folder: Path, name: str) -> tuple[dict[str, int], list[str]]:
    """The modes by the path below the folder of what a manager makes there, and the commands with that folder in them
    that the JVM started meanwhile: its flight recorder tells them, whatever else the JVM starts at the same time."""
    jvm: Any = spark._jvm
    files = _files(spark, folder, name)
    recording = jvm.jdk.jfr.Recording()
    recording.enable("jdk.ProcessStart")
    recording.start()
    files.mkdirs(_path(spark, folder / "state" / "0"))
    _write(spark, files, folder / "state" / "0" / "1.delta", b"some")
    recording.stop()
    recorded = folder.with_suffix(".jfr")
    recording.dump(_java_path(jvm, recorded))
    recording.close()
    events = jvm.jdk.jfr.consumer.RecordingFile.readAllEvents(_java_path(jvm, recorded))
    started = [command for event in events if str(folder) in (command := event.getString("command"))]
    return {str(path.relative_to(folder)): path.stat().st_mode for path in folder.rglob("*")}, started


def _java_path(jvm: Any, file: Path) -> Any:
    return jvm.java.io.File(str(file)).toPath()
