"""The jar fetcher against a real HTTP server on loopback."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest

from kappa.core.spark_environment import SPARK_JAR
from stack.services import jars
from stack.services.jars import Jar, JarDamaged, JarUnreachable

CONTENT = {"org/a/a-1.jar": b"first jar", "org/b/b-2.jar": b"second jar"}


class Repository(SimpleHTTPRequestHandler):
    """Serves files; first answers with the failures it is given, each a status or how many bytes come of a file."""

    failures: ClassVar[list[HTTPStatus | int]] = []

    def do_GET(self) -> None:
        """The next failure, or the file."""
        failure = self.failures.pop(0) if self.failures else None
        if isinstance(failure, HTTPStatus):
            self.send_error(failure)
        elif failure is not None:
            self.send_response(HTTPStatus.OK)
            self.end_headers()
            self.wfile.write(CONTENT[self.path[1:]][:failure])
        else:
            super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts follow one another at once, and no failure is left over from another test."""
    monkeypatch.setattr(jars, "LONGEST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(Repository, "failures", [])


@pytest.fixture
def base(tmp_path: Path) -> Iterator[str]:
    """URL of a small Maven repository."""
    for path, data in CONTENT.items():
        (tmp_path / "maven" / path).parent.mkdir(parents=True)
        (tmp_path / "maven" / path).write_bytes(data)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Repository, directory=str(tmp_path / "maven"))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    """Where the jars of each group go."""
    return {"broker": tmp_path / "home" / "broker", "spark": tmp_path / "home" / "spark"}


def locked(path: str, group: str = "broker") -> Jar:
    """The lock file's line for one of the served jars."""
    return Jar(group, hashlib.sha256(CONTENT[path]).hexdigest(), len(CONTENT[path]), path)


def kept(folder: Path) -> list[str]:
    """Names of all files in a folder but the lock."""
    return sorted(file.name for file in folder.iterdir() if file.name != jars.LOCK_NAME)


def test_each_jar_lands_in_the_folder_of_its_group(base: str, folders: dict[str, Path], tmp_path: Path) -> None:
    wanted = [locked("org/a/a-1.jar"), locked("org/b/b-2.jar", "spark")]
    assert jars.fetch(wanted, base, tmp_path / "cache", folders) == 19
    assert (folders["broker"] / "a-1.jar").read_bytes() == b"first jar"
    assert (folders["spark"] / "b-2.jar").read_bytes() == b"second jar"


def test_a_group_that_is_not_asked_for_is_not_downloaded(base: str, folders: dict[str, Path], tmp_path: Path) -> None:
    wanted = [locked("org/a/a-1.jar"), locked("org/b/b-2.jar", "s3")]
    assert jars.fetch(wanted, base, tmp_path / "cache", folders) == 9
    assert [jar.name for jar in tmp_path.glob("home/*/*")] == ["a-1.jar"]


def test_jars_of_a_release_before_do_not_stay_beside_those_of_this_one(base: str, tmp_path: Path) -> None:
    """Two groups share a folder, and our own jar, which no lock names, lies there, too."""
    folder = tmp_path / "home"
    folders = {"spark": folder, "s3": folder}
    for wanted in ([locked("org/a/a-1.jar", "spark")], [locked("org/b/b-2.jar", "s3")]):
        jars.fetch(wanted, base, tmp_path / "cache", folders)
        (folder / SPARK_JAR).touch()
        jars.leave_only(wanted, folders)
    assert kept(folder) == ["b-2.jar", SPARK_JAR]
    both = [locked("org/a/a-1.jar", "spark"), *wanted]
    jars.fetch(both, base, tmp_path / "cache", folders)
    jars.leave_only(both, folders)
    assert kept(folder) == ["a-1.jar", "b-2.jar", SPARK_JAR]


def test_a_second_state_folder_downloads_nothing(base: str, folders: dict[str, Path], tmp_path: Path) -> None:
    wanted = [locked("org/a/a-1.jar")]
    jars.fetch(wanted, base, tmp_path / "cache", folders)
    elsewhere = {"broker": tmp_path / "other"}
    assert jars.fetch(wanted, "http://127.0.0.1:9", tmp_path / "cache", elsewhere) == 0
    assert (elsewhere["broker"] / "a-1.jar").read_bytes() == b"first jar"


def test_a_jar_with_another_digest_is_refused_and_not_kept(base: str, folders: dict[str, Path], tmp_path: Path) -> None:
    wrong = Jar("broker", "0" * 64, 9, "org/a/a-1.jar")
    with pytest.raises(JarDamaged, match="sha256"):
        jars.fetch([wrong], base, tmp_path / "cache", folders)
    assert kept(tmp_path / "cache") == kept(folders["broker"]) == []


def test_a_damaged_cache_is_not_used(base: str, folders: dict[str, Path], tmp_path: Path) -> None:
    jar = locked("org/a/a-1.jar")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / jar.sha256).write_bytes(b"rotten jar")
    jars.fetch([jar], base, tmp_path / "cache", folders)
    assert (folders["broker"] / "a-1.jar").read_bytes() == b"first jar"


@pytest.mark.parametrize("path", ["/nothing/here.jar", "http://127.0.0.1:9/x.jar"])
def test_an_unreachable_jar_names_its_url_and_the_remedy(
    base: str, folders: dict[str, Path], tmp_path: Path, path: str
) -> None:
    root = base if path.startswith("/") else "http://127.0.0.1:9"
    with pytest.raises(JarUnreachable, match=r"here\.jar.*KAPPA_MAVEN"):
        jars.fetch([Jar("broker", "0" * 64, 9, "nothing/here.jar")], root, tmp_path / "cache", folders)


def test_a_download_that_fails_for_a_while_is_tried_again(
    base: str, folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Repository, "failures", [HTTPStatus.BAD_GATEWAY, HTTPStatus.TOO_MANY_REQUESTS, 4, 0])
    assert jars.fetch([locked("org/a/a-1.jar")], base, tmp_path / "cache", folders) == 9
    assert (folders["broker"] / "a-1.jar").read_bytes() == b"first jar"


@pytest.mark.parametrize("failure", [HTTPStatus.SERVICE_UNAVAILABLE, 4])
def test_a_download_that_goes_on_failing_is_given_up(
    base: str, folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: HTTPStatus | int
) -> None:
    failures = [failure] * (jars.ATTEMPTS + 1)
    monkeypatch.setattr(Repository, "failures", failures)
    with pytest.raises(JarUnreachable, match=r"503|only 4 of 9 bytes came"):
        jars.fetch([locked("org/a/a-1.jar")], base, tmp_path / "cache", folders)
    assert len(failures) == 1
    assert kept(tmp_path / "cache") == []


def test_of_two_that_want_the_same_jars_one_downloads_them(base: str, folders: dict[str, Path], tmp_path: Path) -> None:
    wanted = [locked("org/a/a-1.jar"), locked("org/b/b-2.jar")]
    homes = [{"broker": tmp_path / name} for name in ("one", "other")]
    with ThreadPoolExecutor() as both:
        fetched = both.map(lambda home: jars.fetch(wanted, base, tmp_path / "cache", home), homes)
    assert sorted(fetched) == [0, 19]
    assert [kept(home["broker"]) for home in homes].count(["a-1.jar", "b-2.jar"]) == 2


def test_what_a_repository_refuses_is_not_asked_for_again(
    base: str, folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Repository, "failures", [HTTPStatus.NOT_FOUND])
    with pytest.raises(JarUnreachable, match="404"):
        jars.fetch([locked("org/a/a-1.jar")], base, tmp_path / "cache", folders)


def test_the_repository_is_the_environments_then_the_mirror_then_central(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    assert jars.repository(home) == jars.CENTRAL
    (tmp_path / ".m2").mkdir()
    mirror = "<mirror><mirrorOf>central</mirrorOf><url>http://m/repo/</url></mirror>"
    space = 'xmlns="http://maven.apache.org/SETTINGS/1.0.0"'
    (tmp_path / ".m2" / "settings.xml").write_text(f"<settings {space}><mirrors>{mirror}</mirrors></settings>")
    assert jars.repository(home) == "http://m/repo"
    assert jars.repository({**home, "KAPPA_MAVEN": "http://other/"}) == "http://other"


def test_the_lock_file_names_each_jar_once() -> None:
    locks = jars.read()
    assert {jar.group for jar in locks} == {"broker", "spark", "s3", "s3-server", "hdfs-server"}
    assert len({(jar.group, jar.name) for jar in locks}) == len(locks) == 88
