"""An installation names all its parts or none, and nothing plain is said to an address that is not loopback."""

from __future__ import annotations

from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from kappa.core.installation.addresses import (
    Kafka,
    MissingAddress,
    NoHostAndPort,
    PlainAddress,
    UnevenMasters,
    is_loopback,
)
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings, load
from kappa.core.store.places import UnknownStore
from kappa.core.store.s3 import Bucket
from tests.rigs.checkpoint_folders import folder_of

ELSEWHERE = """
[kafka]
bootstrap = "k1.example.com:9093,k2.example.com:9093"
ca = "/etc/kappa/ca.pem"
[postgres]
host = "pg.example.com"
sslrootcert = "/etc/kappa/ca.pem"
[spark]
master = "spark://m1:7077,m2:7077"
rest = ["https://m1:6066", "https://m2:6066"]
ui = ["https://m1:8080", "https://m2:8080"]
[airflow]
url = "https://airflow.example.com"
[places]
shared = "/mnt/kappa"
secrets = "/etc/kappa"
store = "s3a://kappa/prod?endpoint=https://s3.example.com&region=eu-1"
"""
S3 = "s3a://kappa/prod?endpoint=https://s3.example.com&region=eu-1"


def read(folder: Path, text: str) -> Settings:
    (folder / "kappa.toml").write_text(text)
    return load(folder / "state", {})


def test_without_addresses_every_part_is_the_embedded_one_on_its_port(tmp_path: Path) -> None:
    settings = read(tmp_path, "[ports]\npostgres = 5\nspark_rest = 6\nairflow = 7\n")
    assert settings.is_embedded
    assert (settings.database_address, settings.spark_rest) == ("127.0.0.1:5", ("http://127.0.0.1:6",))
    assert settings.airflow_url == "http://127.0.0.1:7"
    assert conninfo_to_dict(settings.dsn("kappa_reader"))["sslmode"] == "disable"


def test_each_part_is_reached_where_the_settings_say(tmp_path: Path) -> None:
    settings = read(tmp_path, ELSEWHERE)
    assert not settings.is_embedded
    assert settings.spark_master == "spark://m1:7077,m2:7077"
    assert settings.spark_rest == ("https://m1:6066", "https://m2:6066")
    assert settings.spark_ui == ("https://m1:8080", "https://m2:8080")
    assert settings.airflow_url == "https://airflow.example.com"
    access = settings.kafka_access(KafkaUser.STREAM)
    assert (access.address, access.server.protocol) == ("k1.example.com:9093,k2.example.com:9093", "SASL_SSL")
    assert access.file == Path("/etc/kappa/kafka_stream.properties")
    said = conninfo_to_dict(settings.dsn("kappa_writer"))
    assert (said["host"], said["port"], said["sslmode"]) == ("pg.example.com", "5432", "verify-full")
    assert (said["sslrootcert"], said["passfile"]) == ("/etc/kappa/ca.pem", "/etc/kappa/kappa_writer.pgpass")


def test_what_all_hosts_need_is_in_the_shared_folder_and_the_rest_in_the_hosts_own(tmp_path: Path) -> None:
    settings = read(tmp_path, ELSEWHERE)
    for place in (settings.artifacts, settings.jars):
        assert place.is_relative_to("/mnt/kappa")
    checkpoint = settings.checkpoints("ad_ctr", 1) / "g1"
    assert str(checkpoint) == "s3a://kappa/prod/checkpoints/ad_ctr/v1/g1"
    assert str(settings.scratch("c1")) == "s3a://kappa/prod/work/c1"
    assert checkpoint.store == Bucket("kappa", "https://s3.example.com", "eu-1")
    assert settings.home == tmp_path / "state"


def test_without_a_store_checkpoints_lie_in_the_shared_folder(tmp_path: Path) -> None:
    settings = read(tmp_path, '[places]\nshared = "/mnt/kappa"\n')
    assert folder_of(settings.checkpoints("ad_ctr", 1)) == Path("/mnt/kappa/checkpoints/ad_ctr/v1")
    assert folder_of(read(tmp_path, "").store) == tmp_path / "state"


def test_a_store_that_cannot_be_used_is_refused_as_the_settings_are_read(tmp_path: Path) -> None:
    with pytest.raises(UnknownStore, match="scheme 'gs'"):
        read(tmp_path, '[places]\nstore = "gs://bucket/prefix"\n')


def test_without_a_certificate_file_those_of_the_system_count(tmp_path: Path) -> None:
    settings = read(tmp_path, ELSEWHERE.replace('sslrootcert = "/etc/kappa/ca.pem"', ""))
    assert conninfo_to_dict(settings.dsn("kappa_writer"))["sslrootcert"] == "system"


@pytest.mark.parametrize("left_out", ["[airflow]\nurl", "[postgres]\nhost", "master", "rest", "ui"])
def test_a_part_without_an_address_is_named(tmp_path: Path, left_out: str) -> None:
    table = left_out.split("\n")[0] if "\n" in left_out else ""
    lines = ELSEWHERE.splitlines()
    name = left_out.split("\n")[-1]
    kept = [line for line in lines if not line.startswith(f"{name} = ")]
    with pytest.raises(MissingAddress, match=rf"but not .*{table.strip('[]')}"):
        read(tmp_path, "\n".join(kept))


@pytest.mark.parametrize("left_out", ['"https://m1:6066", ', '"https://m1:8080", ', "m1:7077,"])
def test_a_master_without_an_address_is_refused(tmp_path: Path, left_out: str) -> None:
    """Nobody would find out before it leads."""
    with pytest.raises(UnevenMasters, match="each master has one of both"):
        read(tmp_path, ELSEWHERE.replace(left_out, ""))


@pytest.mark.parametrize(
    ("plain", "setting"),
    [
        (("[postgres]", '[postgres]\nsslmode = "require"'), r"postgres\.sslmode = 'require'"),
        (("https://m2:6066", "http://m2:6066"), r"spark\.rest = 'http://m2:6066'"),
        (("https://m1:8080", "http://m1:8080"), r"spark\.ui = 'http://m1:8080'"),
        (("https://airflow", "http://airflow"), r"airflow\.url = 'http://airflow"),
        (("endpoint=https", "endpoint=http"), r"places\.store = 'http://s3.example.com'"),
        (
            (S3, "hdfs://nn:8020/kappa?http=https://nn:9871"),
            r"places\.store = 'hdfs://nn:8020/kappa\?http=https://nn:9871'",
        ),
        ((S3, "hdfs://127.0.0.1:8020/kappa?http=http://nn:9870"), r"places\.store = 'http://nn:9870'"),
    ],
)
def test_nothing_plain_is_said_to_another_host_unless_the_settings_say_so(
    tmp_path: Path, plain: tuple[str, str], setting: str
) -> None:
    text = ELSEWHERE.replace(*plain)
    with pytest.raises(PlainAddress, match=setting):
        read(tmp_path, text)
    section = setting.split("\\")[0]
    assert read(tmp_path, text.replace(f"[{section}]", f"[{section}]\nallow_plain = true"))


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SASL_PLAINTEXT"])
@pytest.mark.parametrize(
    "bootstrap", ["k1.example.com:9092", "127.0.0.1:9092, k1.example.com:9092", "[2001:db8::1]:9092"]
)
def test_nothing_plain_is_said_to_a_broker_elsewhere(protocol: str, bootstrap: str) -> None:
    with pytest.raises(PlainAddress, match=rf"kafka\.protocol = '{protocol}'"):
        Kafka(bootstrap, protocol).check()
    Kafka(bootstrap, protocol, allow_plain=True).check()
    Kafka(bootstrap, protocol.replace("PLAINTEXT", "SSL")).check()


@pytest.mark.parametrize("bootstrap", ["localhost:9092", "127.0.0.1:9092,127.0.0.2:9092", "[::1]:9092"])
def test_a_broker_on_this_machine_may_be_spoken_to_plainly(bootstrap: str) -> None:
    Kafka(bootstrap, "PLAINTEXT").check()


@pytest.mark.parametrize(
    "bootstrap",
    ["k1.example.com", "k1:9092,k2", "[::1]", "::1", "k1:", "k1:port", "k1:0", "k1:65536", ":9092"],
)
@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SASL_SSL"])
def test_a_broker_without_host_and_port_is_refused(bootstrap: str, protocol: str) -> None:
    """Also where plain text is allowed: no client could reach it."""
    with pytest.raises(NoHostAndPort, match=r"kafka\.bootstrap = .*is no host:port.*k1\.example\.com:9093"):
        Kafka(bootstrap, protocol, allow_plain=True).check()


def test_a_broker_without_a_port_is_refused_as_the_settings_are_read(tmp_path: Path) -> None:
    with pytest.raises(NoHostAndPort, match=r"'k2\.example\.com'"):
        read(tmp_path, ELSEWHERE.replace("k2.example.com:9093", "k2.example.com"))


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "::1"])
def test_loopback_is_where_nothing_leaves_the_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["pg", "10.0.0.1", "0.0.0.0", "localhost.example.com"])
def test_any_other_name_may_be_another_machine(host: str) -> None:
    assert not is_loopback(host)
