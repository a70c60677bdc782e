"""The jar fetcher against a real HTTP server on loopback."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from stack.services import jars
from stack.services.jars import Jar, JarDamaged, JarUnreachable

CONTENT = {"org/a/a-1.jar": b"first jar", "org/b/b-2.jar": b"second jar"}


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without logging."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def base(tmp_path: Path) -> Iterator[str]:
    """URL of a small Maven repository."""
    for path, data in CONTENT.items():
        (tmp_path / "maven" / path).parent.mkdir(parents=True)
        (tmp_path / "maven" / path).write_bytes(data)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "maven"))) as server:
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


def test_each_jar_lands_in_the_folder_of_its_group(base: str, folders: dict[str, Path], tmp_path: Path) -> None:
    wanted = [locked("org/a/a-1.jar"), locked("org/b/b-2.jar", "spark")]
    assert jars.fetch(wanted, base, tmp_path / "cache", folders) == 19
    assert (folders["broker"] / "a-1.jar").read_bytes() == b"first jar"
    assert (folders["spark"] / "b-2.jar").read_bytes() == b"second jar"


def test_a_group_that_is_not_asked_for_is_not_downloaded(base: str, folders: dict[str, Path], tmp_path: Path) -> None:
    wanted = [locked("org/a/a-1.jar"), locked("org/b/b-2.jar", "s3")]
    assert jars.fetch(wanted, base, tmp_path / "cache", folders) == 9
    assert [jar.name for jar in tmp_path.glob("home/*/*")] == ["a-1.jar"]


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
    assert list((tmp_path / "cache").iterdir()) == list(folders["broker"].iterdir()) == []


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
    assert {jar.group for jar in locks} == {"broker", "spark", "s3"}
    assert len({(jar.group, jar.name) for jar in locks}) == len(locks) == 86
