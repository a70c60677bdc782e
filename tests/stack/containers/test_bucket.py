"""The profile `s3`: who is given the keys of the bucket, how they come into an environment, and nothing without it."""

from __future__ import annotations

import os
import re
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from cli.entry import CHECKOUT
from kappa.core.installation.addresses import PlainAddress
from kappa.core.installation.findings import Finding
from kappa.core.installation.settings import Settings, load
from kappa.core.refusals import Refusal
from kappa.core.store import places
from kappa.core.store.s3 import Bucket
from stack.containers import bucket, installation, names, prepare
from stack.containers.names import Chosen, Group
from stack.layout import Layout
from stack.services import jars, spark_jar
from stack.waiting import until
from tests.rigs import s3_server
from tests.rigs.small_stack import free_ports
from tests.stack.containers.test_compose_file import DOCKERFILE, SERVICES
from tests.stack.containers.test_given import made, seen

CHOICE = Chosen(s3=True)
OF_BUCKET = {bucket.KEYS, bucket.CONFIGURATION}


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """The folders of a target, after the job `secrets` of somebody who chose the profile."""
    made(tmp_path)
    prepare.make_secrets(tmp_path, tmp_path / "given", CHOICE)
    return tmp_path


def image(target: str) -> str:
    """The lines of one image."""
    return re.split(rf"^FROM \S+ AS {target}$", DOCKERFILE, flags=re.M)[1].split("\nFROM ")[0]


def test_the_keys_are_given_to_those_who_use_the_bucket_and_its_server_knows_the_same(target: Path) -> None:
    held = [group for group in Group if bucket.KEYS in seen(target, group)]
    assert held == [Group.WORKER, Group.AIRFLOW, Group.STORES]
    keys = bucket.keys(target / "secrets")
    (configuration,) = seen(target, Group.S3).values()
    assert f"s3proxy.identity={keys['AWS_ACCESS_KEY_ID']}\n" in configuration
    assert f"s3proxy.credential={keys['AWS_SECRET_ACCESS_KEY']}\n" in configuration
    assert (target / "secrets" / bucket.KEYS).stat().st_mode & 0o077 == 0


def test_without_the_profile_there_are_no_keys_and_given_up_they_are_taken_back(target: Path) -> None:
    prepare.make_secrets(target, target / "given", Chosen())
    assert [group for group in Group if OF_BUCKET & set(seen(target, group))] == []
    assert load(target / "state", {}).store.store is places.FOLDER
    assert SERVICES[names.S3]["profiles"] == ["s3"]
    assert SERVICES["stores"]["depends_on"][names.S3]["required"] is False


def test_each_side_reaches_the_same_place_and_only_containers_speak_plainly(target: Path) -> None:
    inside, outside = prepare.inside(CHOICE), load(target / "state", {})
    assert str(inside.store) == str(outside.store) == f"s3a://{bucket.NAME}/state"
    inside.places.check()
    with pytest.raises(PlainAddress):
        replace(inside.places, allow_plain=False).check()
    assert isinstance(inside.store.store, Bucket)
    assert inside.store.store.endpoint == f"http://{names.S3}:{names.S3_PORT}"
    assert not outside.places.allow_plain
    assert "allow_plain" not in installation.text(installation.outside(CHOICE), CHOICE).split("[places]")[1]


@pytest.mark.parametrize(("given", "told"), [(True, "kappa-of-a-test"), (False, "none")])
def test_a_program_starts_with_the_keys_that_its_container_is_given(tmp_path: Path, given: bool, told: str) -> None:
    script = (CHECKOUT / "docker" / "with_keys.sh").read_text()
    assert f"keys={names.GIVEN / bucket.KEYS}\n" in script
    keys = tmp_path / bucket.KEYS
    if given:
        keys.write_text("AWS_SECRET_ACCESS_KEY=kappa-of-a-test\n")
    (tmp_path / "script").write_text(script.replace(str(names.GIVEN / bucket.KEYS), str(keys)))
    program = ["sh", "-c", 'echo "${AWS_SECRET_ACCESS_KEY:-none} $1"', "sh", "an argument"]
    command = ["sh", str(tmp_path / "script"), *program]
    done = subprocess.run(command, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True)
    assert done.stdout == f"{told} an argument\n"


@pytest.mark.parametrize("name", ["spark", "airflow"])
def test_an_image_that_uses_the_bucket_has_its_client_and_starts_with_the_keys(name: str) -> None:
    assert 'ENTRYPOINT ["kappa-with-keys"' in image(name)
    assert "--only-group s3" in image(f"{name}-packages")


def test_the_server_serves_the_bucket_that_the_settings_name_with_its_own_configuration() -> None:
    script = (CHECKOUT / "docker" / "s3.sh").read_text()
    assert f"mkdir -p {bucket.DATA / bucket.NAME}\n" in script
    assert f"--properties {names.GIVEN / bucket.CONFIGURATION}\n" in script
    assert f"/{names.S3_PORT}" in SERVICES[names.S3]["healthcheck"]["test"][-1]


@contextmanager
def serving(folder: Path, url: str) -> Iterator[None]:
    """The server of the container, by its own script, in a folder here."""
    server, keys = s3_server.S3PROXY, s3_server.KEYS
    cache = Layout(Settings(CHECKOUT / ".kappa"), CHECKOUT).jar_cache
    jars.fetch([server], jars.repository(os.environ), cache, {server.group: folder / "jars"})
    script = (CHECKOUT / "docker" / "s3.sh").read_text()
    for there, here in (("/opt/s3", folder / "jars"), (bucket.DATA, folder / "data"), (names.GIVEN, folder)):
        script = script.replace(str(there), str(here))
    (folder / bucket.CONFIGURATION).write_text(bucket.properties(url, keys, folder / "data"))
    process = subprocess.Popen(["sh", "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def answered(url: str) -> int | None:
    """What somebody without a key is answered; None while nobody is there."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


@pytest.mark.rig
def test_who_has_no_key_reads_neither_the_bucket_nor_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    for name, value in s3_server.KEYS.items():
        monkeypatch.setenv(name, value)
    with serving(tmp_path, url):
        assert until(lambda: answered(url) is not None, 60.0, 0.2)
        file = places.at(bucket.setting(url)) / "a-file"
        file.write(b"ours")
        assert file.read() == b"ours"
        assert [answered(f"{url}/{bucket.NAME}{path}") for path in ("", "/state/a-file")] == [403, 403]


@pytest.fixture
def ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings of containers with a bucket, a shared folder here, and one jar in the image."""
    (tmp_path / "image").mkdir()
    (tmp_path / "image" / "hadoop-aws.jar").touch()
    monkeypatch.setattr(names, "S3_JARS", tmp_path / "image")
    monkeypatch.setattr(prepare, "PATIENCE_SECONDS", 0.1)
    settings = prepare.inside(CHOICE)
    return replace(settings, places=replace(settings.places, shared=str(tmp_path / "shared")))


def test_spark_is_given_what_it_needs_for_a_bucket(
    ready: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "others").mkdir()
    monkeypatch.setattr(names, "JARS", tmp_path / "others")
    prepare.put_jars(ready)
    assert {jar.name for jar in ready.jars.iterdir()} == {"hadoop-aws.jar", spark_jar.JAR.name}
    elsewhere = replace(ready, places=replace(ready.places, shared=str(tmp_path / "folder"), store=""))
    elsewhere.jars.mkdir(parents=True)
    (elsewhere.jars / "of-a-release-before.jar").touch()
    prepare.put_jars(elsewhere)
    assert {jar.name for jar in elsewhere.jars.iterdir()} == {spark_jar.JAR.name}


def test_a_server_that_was_not_started_is_refused_before_any_driver_waits_for_it(
    ready: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "kappa.core.store.check.check", lambda store: [Finding(f"put in {store}", "nobody", "Start it.")]
    )
    with pytest.raises(Refusal, match="the S3 server of the profile s3 did not answer"):
        prepare.await_bucket(ready)
    assert "put in s3a://kappa/state: nobody" in capsys.readouterr().err
