"""A setting names a folder, a bucket or HDFS, or is refused; a store that is away is told from one without a file."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kappa.core.store import hdfs
from kappa.core.store.hdfs import Hdfs
from kappa.core.store.location import NoClient, StoreAway
from kappa.core.store.places import UnknownStore, at
from kappa.core.store.s3 import Bucket


def test_a_path_is_a_folder_and_a_url_a_bucket(tmp_path: Path) -> None:
    assert str(at(tmp_path) / "ad_ctr") == f"{tmp_path}/ad_ctr"
    place = at("s3a://bucket/kappa/?endpoint=http://127.0.0.1:9&region=eu-west-1") / "ad_ctr"
    assert place.store == Bucket("bucket", "http://127.0.0.1:9", "eu-west-1")
    assert str(place) == "s3a://bucket/kappa/ad_ctr"


def test_a_url_of_hdfs_names_it_for_spark_and_for_webhdfs() -> None:
    place = at("hdfs://nn.example.com:8020/kappa/prod?http=https://nn.example.com:9871") / "ad_ctr"
    assert place.store == Hdfs("nn.example.com:8020", "https://nn.example.com:9871")
    assert str(place) == "hdfs://nn.example.com:8020/kappa/prod/ad_ctr"


@pytest.mark.parametrize(
    "place",
    [
        "checkpoints", "gs://bucket/a", "s3a:///a", "s3a://key:secret@bucket/a", "s3a://bucket/a?zone=b",
        "hdfs://nn:8020/a", "hdfs://nn:8020?http=http://nn:9870", "hdfs:///a?http=http://nn:9870",
        "hdfs://secret@nn:8020/a?http=http://nn:9870", "hdfs://nn:8020/a?http=http://nn:9870&region=b",
    ],
)  # fmt: skip
def test_another_place_is_refused_and_no_key_is_repeated(place: str) -> None:
    with pytest.raises(UnknownStore) as refused:
        at(place)
    assert "secret" not in str(refused.value)


def test_a_checksum_of_hadoop_goes_with_what_is_written_anew(tmp_path: Path) -> None:
    (tmp_path / ".0.crc").write_text("of another text")
    (at(tmp_path) / "0").write(b"text")
    assert at(tmp_path).names() == {"0"}


def test_a_store_that_does_not_answer_is_away_and_lacks_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kappa.core.store.s3.RETRIES", 0)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "kappa")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-a-test")
    with pytest.raises(StoreAway) as away:
        at("s3a://nobody/a?endpoint=http://127.0.0.1:9").read()
    assert not isinstance(away.value, FileNotFoundError)


def test_a_missing_package_is_named_with_the_command_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(NoClient, match="uv sync --extra s3"):
        at("s3a://bucket/a").read()


def test_an_hdfs_that_does_not_answer_is_away_and_lacks_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdfs, "RETRIES", 0)
    with pytest.raises(StoreAway, match=r"the store of hdfs://127\.0\.0\.1:9/a/0 cannot be used: .*refused") as away:
        (at("hdfs://127.0.0.1:9/a?http=http://127.0.0.1:9") / "0").read()
    assert not isinstance(away.value, FileNotFoundError)


def test_without_a_client_of_http_hdfs_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    hdfs._client.cache_clear()
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(NoClient, match="needs the package httpx"):
        at("hdfs://nn:8020/a?http=http://nn:9870").read()
