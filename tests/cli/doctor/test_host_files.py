"""What a host lacks is named with the command that mends it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from cli.doctor import host_files
from cli.doctor.trial import Tried, carry_out
from kappa.core.installation.addresses import Places
from kappa.core.installation.settings import Settings
from stack.provisioning import role_secrets
from stack.services import spark_jar
from tests.rigs.s3_server import BUCKET


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A host that lacks nothing."""
    secrets = tmp_path / "state" / "secrets"
    secrets.mkdir(parents=True)
    settings = Settings(tmp_path / "state")
    for file in host_files.secret_files(settings):
        file.write_text("secret")
        file.chmod(0o600)
    settings.jars.mkdir(parents=True)
    spark_jar.put(settings.jars)
    return settings


def wrong(settings: Settings) -> dict[str, Tried]:
    tried = [carry_out(trial) for trial in host_files.trials(settings)]
    assert len(tried) >= 8
    return {one.what: one for one in tried if one.finding}


def test_of_a_host_that_has_all_nothing_is_said_and_nothing_is_left_there(settings: Settings) -> None:
    before = sorted(settings.home.rglob("*"))
    assert wrong(settings) == {}
    assert sorted(settings.home.rglob("*")) == before


def test_a_secret_that_is_not_there_is_named(settings: Settings) -> None:
    settings.spark_key.unlink()
    finding = wrong(settings)["secret spark-rest.key"].finding
    assert finding is not None
    assert str(settings.spark_key) in finding.wrong
    assert "./kappa up" in finding.remedy
    elsewhere = replace(settings, postgres=replace(settings.postgres, host="pg"))
    finding = wrong(elsewhere)["secret spark-rest.key"].finding
    assert finding is not None
    assert "Copy it from the host that has it" in finding.remedy


def of_host(settings: Settings, word: str) -> Settings:
    """The same host, whose folder was made for these roles and has what they need."""
    there = replace(settings, postgres=replace(settings.postgres, host="pg"), places=Places(shared=str(settings.home)))
    host = role_secrets.read(word)
    for name in role_secrets.files(there, host):
        (there.secrets / name).parent.mkdir(exist_ok=True)
        (there.secrets / name).write_text("secret")
        (there.secrets / name).chmod(0o600)
    (there.secrets / "host").write_text(word)
    for name in role_secrets.of_others(there, host):
        (there.secrets / name).unlink()
    return there


def test_a_host_needs_the_secrets_of_its_roles_and_no_others(settings: Settings) -> None:
    there = of_host(settings, "w1=spark_worker")
    tried = {one.what for one in map(carry_out, host_files.trials(there)) if one.finding is None}
    assert {what.removeprefix("secret ") for what in tried if what.startswith("secret ")} == {
        "ca.pem", "spark-auth.properties", "spark-worker.properties", "kafka_stream.properties", "kappa_writer.pgpass",
    }  # fmt: skip
    assert wrong(there) == {}
    (there.secrets / "kappa_writer.pgpass").unlink()
    finding = wrong(there)["secret kappa_writer.pgpass"].finding
    assert finding is not None
    assert finding.remedy.startswith("Copy given/w1 from where the secrets are made")


def test_a_secret_of_another_host_is_named(settings: Settings) -> None:
    there = of_host(settings, "k1=broker")
    for name in ("postgres.pgpass", "tls/k2.pem", "airflow-keys.json", "of-somebody-else"):
        (there.secrets / name).write_text("secret")
    finding = wrong(there)["secrets of others"].finding
    assert finding is not None
    assert finding.wrong.startswith("airflow-keys.json, postgres.pgpass, tls/k2.pem in ")
    assert "rsync --delete" in finding.remedy


def test_what_goes_by_another_role_s_secret_is_not_tried(settings: Settings) -> None:
    assert all(map(host_files.wanted(settings), ("", "kappa_owner.pgpass")))
    wanted = host_files.wanted(of_host(settings, "w1=spark_worker"))
    assert [name for name in ("", "kappa_writer.pgpass", "kappa_owner.pgpass") if wanted(name)] == [
        "", "kappa_writer.pgpass",
    ]  # fmt: skip


@pytest.mark.parametrize(("is_there", "said"), [(False, "does not exist"), (True, "is of another release")])
@pytest.mark.parametrize(("host", "remedy"), [("", "./kappa up"), ("pg", f"Copy {spark_jar.JAR} to ")])
def test_a_jar_of_checkpoints_that_is_not_the_releases_is_named(
    settings: Settings, is_there: bool, said: str, host: str, remedy: str
) -> None:
    jar = settings.jars / spark_jar.JAR.name
    jar.write_bytes(b"older") if is_there else jar.unlink()
    there = replace(settings, postgres=replace(settings.postgres, host=host))
    finding = wrong(there)["jar kappa-spark.jar"].finding
    assert finding is not None
    assert f"{jar} {said}" in finding.wrong
    assert remedy in finding.remedy


def test_a_secret_that_others_may_read_is_named(settings: Settings) -> None:
    settings.passfile("kappa_writer").chmod(0o640)
    finding = wrong(settings)["secret kappa_writer.pgpass"].finding
    assert finding is not None
    assert "mode 0640" in finding.wrong
    assert finding.remedy.startswith(f"chmod 600 {settings.passfile('kappa_writer')}")


def test_a_bucket_for_checkpoints_is_tried_too(settings: Settings, s3: str) -> None:
    store = f"s3a://{BUCKET}/doctor?endpoint={s3}"
    named = replace(settings, places=Places(store=store))
    assert wrong(named) == {}
    assert named.store.files() == {}
    missing = replace(settings, places=Places(store=store.replace(BUCKET, "no-such-bucket")))
    finding = wrong(missing)["store s3a://no-such-bucket/doctor"].finding
    assert finding is not None
    assert "put in s3a://no-such-bucket/doctor" in finding.wrong
    assert "address and keys, or user, are right" in finding.remedy


def test_a_shared_folder_that_is_not_mounted_is_named(settings: Settings, tmp_path: Path) -> None:
    away = replace(settings, places=Places(shared=str(tmp_path / "away")))
    finding = wrong(away)[f"shared folder {tmp_path / 'away'}"].finding
    assert finding is not None
    assert "Mount it" in finding.remedy


def test_where_the_store_is_another_only_hosts_of_spark_need_the_shared_folder(
    settings: Settings, tmp_path: Path
) -> None:
    places = Places(shared=str(tmp_path / "away"), store=str(tmp_path / "store"))
    for word, named in (("a1=airflow,client", False), ("m1=monitor", False), ("w1=spark_worker", True)):
        there = replace(of_host(settings, word), places=replace(places, secrets=str(settings.secrets)))
        tried = {one.what: one for one in map(carry_out, host_files.trials(there))}
        found = tried[f"shared folder {tmp_path / 'away'}"]
        assert (found.finding is not None) is named, found
        assert named or found.found.startswith("not seen from here, and not needed")
        assert f"room in {tmp_path / 'away'}" not in tried


def test_a_host_of_spark_may_have_the_shared_folder_to_read_only(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # as on a mount that is read-only; root may write elsewhere
    places = Places(shared=str(settings.home), secrets=str(settings.secrets), store=str(tmp_path / "store"))
    there = replace(of_host(settings, "w1=spark_worker"), places=places)
    tried = {one.what: one for one in map(carry_out, host_files.trials(there))}
    assert tried[f"shared folder {settings.home}"].found == "there, to read: './kappa build' is for another host"


def test_an_installation_of_ones_own_that_names_no_shared_folder_is_told_so(settings: Settings) -> None:
    """Then each host would look for artifacts in a state folder of its own."""
    elsewhere = replace(settings, postgres=replace(settings.postgres, host="pg"))
    finding = wrong(elsewhere)[f"shared folder {settings.home}"].finding
    assert finding is not None
    assert finding.wrong.startswith("places.shared is not named, so it is this host's state folder")
    assert f'places.shared = "{settings.home}"' in finding.remedy
    assert wrong(replace(elsewhere, places=Places(shared=str(settings.home)))) == {}


def test_a_disk_that_is_nearly_full_is_named(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_files, "FREE_BYTES", 10**18)
    assert list(wrong(settings)) == [f"room in {settings.home}"]
