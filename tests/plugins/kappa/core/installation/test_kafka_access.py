"""One way to Kafka, in the words of three clients; a password is in its file and in no option."""

from __future__ import annotations

from pathlib import Path

import pytest

from kappa.core.installation.addresses import Kafka, PlainAddress, WrongProtocol
from kappa.core.installation.kafka_access import KafkaAccess, KafkaUser, UserUnknown

HELD = "sasl.mechanism=SCRAM-SHA-256\nsasl.username=me\nsasl.password=a=b\n"


def access(folder: Path, text: str = HELD, protocol: str = "SASL_SSL", ca: str = "/etc/ca.pem") -> KafkaAccess:
    file = folder / "kafka_stream.properties"
    file.write_text(text)
    file.chmod(0o600)
    return KafkaAccess(Kafka("k1:9092,k2:9092", protocol, ca), KafkaUser.STREAM, file)


def test_sparks_options_name_the_file_and_hold_no_password(tmp_path: Path) -> None:
    options = access(tmp_path).spark()
    assert not any("a=b" in value for value in options.values())
    assert f"${{file:{tmp_path / 'kafka_stream.properties'}:sasl.password}}" in options["kafka.sasl.jaas.config"]
    assert "scram.ScramLoginModule" in options["kafka.sasl.jaas.config"]
    assert options["kafka.sasl.mechanism"] == "SCRAM-SHA-256"
    assert (options["kafka.ssl.truststore.type"], options["kafka.ssl.truststore.location"]) == ("PEM", "/etc/ca.pem")


def test_the_two_other_clients_are_given_what_the_file_holds(tmp_path: Path) -> None:
    by_python, by_librdkafka = access(tmp_path).kafka_python(), access(tmp_path).librdkafka()
    assert (by_python["sasl_plain_username"], by_python["sasl_plain_password"]) == ("me", "a=b")
    assert (by_librdkafka["sasl.username"], by_librdkafka["sasl.password"]) == ("me", "a=b")
    assert by_python["sasl_mechanism"] == by_librdkafka["sasl.mechanism"] == "SCRAM-SHA-256"
    assert by_python["ssl_cafile"] == by_librdkafka["ssl.ca.location"] == "/etc/ca.pem"


def test_without_sign_in_no_file_is_asked_for(tmp_path: Path) -> None:
    anyone = KafkaAccess(Kafka("k1:9092", "SSL"), KafkaUser.STREAM, tmp_path / "none")
    for options in (anyone.spark(), anyone.kafka_python(), anyone.librdkafka()):
        assert not any("sasl" in name or "ca" in name.split(".")[-1].split("_") for name in options)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "cannot be read"),
        ("sasl.mechanism=PLAIN\nsasl.username=me\n", "has no sasl.password"),
        ("sasl.mechanism=GSSAPI\nsasl.username=me\nsasl.password=p\n", "GSSAPI, not one of PLAIN"),
    ],
)
def test_a_file_that_does_not_say_who_it_is_is_named(tmp_path: Path, text: str | None, problem: str) -> None:
    broken = access(tmp_path, text or "")
    if text is None:
        broken.file.unlink()
    with pytest.raises(UserUnknown, match=problem):
        broken.kafka_python()


def test_a_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    open_to_all = access(tmp_path)
    open_to_all.file.chmod(0o640)
    with pytest.raises(UserUnknown, match="mode 0640"):
        open_to_all.spark()


@pytest.mark.parametrize(
    ("server", "error"),
    [
        (Kafka("k1:9092", "SASL_PLAINTEXT"), PlainAddress),
        (Kafka("127.0.0.1:9092,k1:9092", "PLAINTEXT"), PlainAddress),
        (Kafka("k1:9092", "SASL"), WrongProtocol),
    ],
)
def test_nothing_plain_is_said_to_another_host(server: Kafka, error: type[Exception]) -> None:
    with pytest.raises(error):
        server.check()


@pytest.mark.parametrize(
    "server",
    [
        Kafka("k1:9092"),
        Kafka("k1:9092", "SASL_PLAINTEXT", allow_plain=True),
        Kafka("127.0.0.1:9092,[::1]:9093,localhost:1", "PLAINTEXT"),
    ],
)
def test_what_is_encrypted_or_stays_on_this_machine_or_is_allowed_passes(server: Kafka) -> None:
    server.check()
