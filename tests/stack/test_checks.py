"""The checks before a start: ports, disk, folders, settings, and one command at a time."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from kappa.core.installation.embedded import Ports
from kappa.core.installation.layers import InvalidSetting, UnknownSetting
from kappa.core.installation.settings import Settings, load
from stack import disk, port_check
from stack import up as bringing
from stack.disk import DiskFull
from stack.exclusion import Busy, exclusive
from stack.layout import Layout
from stack.port_check import PortTaken, PortTwice, Use
from stack.services import jars, postgres
from stack.services.kafka import NAME as KAFKA
from stack.services.spark import NoJava
from stack.up import up


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which this process listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_taken_port_is_refused_with_part_holder_and_setting(taken: int) -> None:
    with pytest.raises(PortTaken) as refusal:
        port_check.check_free([Use(KAFKA, "kafka", taken)])
    for word in (f"port {taken}", "kafka", f"process {os.getpid()}", "python", "kappa.toml", "ports.kafka"):
        assert word in str(refusal.value)


def test_a_port_that_is_bound_on_all_addresses_is_taken() -> None:
    with (
        socket.create_server(("0.0.0.0", 0)) as server,
        pytest.raises(PortTaken),
    ):
        port_check.check_free([Use(KAFKA, "kafka", server.getsockname()[1])])


def test_a_port_that_our_own_process_holds_is_fine(taken: int) -> None:
    port_check.check_free([Use(KAFKA, "kafka", taken)], ours={os.getpid()})


def test_two_settings_may_not_name_the_same_port() -> None:
    with pytest.raises(PortTwice, match="kafka and postgres"):
        port_check.check_distinct(Ports(kafka=15432))


def test_a_small_disk_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    home = tmp_path / "deep" / "state"
    with pytest.raises(DiskFull, match="KAPPA_HOME"):
        disk.check(home, needed=1 << 60)
    assert list(tmp_path.iterdir()) == []


def test_without_java_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoJava, match="17"):
        up(Settings(home=tmp_path / "state"), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_start_removes_jars_of_a_release_before_only_while_nothing_runs_by_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver that runs hands each new executor the jars that it was started with."""
    layout = Layout(Settings(home=tmp_path / "state"), tmp_path)
    monkeypatch.setattr(jars, "fetch", lambda *_: 0)
    former = [folder / "former-1.jar" for folder in (layout.broker_jars, layout.settings.jars)]
    for jar in former:
        jar.parent.mkdir(parents=True)
        jar.touch()
    bringing._fetch_jars(layout, runs=True)
    assert all(jar.exists() for jar in former)
    bringing._fetch_jars(layout, runs=False)
    assert not any(jar.exists() for jar in former)


def test_a_folder_that_the_user_of_postgres_may_not_pass_is_named(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    stranger = 64999
    for folder in (tmp_path, *list(tmp_path.parents)[:-2]):
        folder.chmod(folder.stat().st_mode | 0o001)
    assert postgres.closed_folder(closed / "state" / "postgres", stranger, stranger) == closed
    closed.chmod(0o701)
    assert postgres.closed_folder(closed / "state" / "postgres", stranger, stranger) is None


def test_a_second_up_or_down_at_the_same_time_is_refused(tmp_path: Path) -> None:
    with exclusive(tmp_path), pytest.raises(Busy, match="under way"), exclusive(tmp_path):
        pass
    with exclusive(tmp_path):
        pass


def test_an_up_of_older_code_is_seen(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with pytest.raises(Busy), exclusive(tmp_path):
            pass
    with exclusive(tmp_path):
        pass


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("colour = 1", UnknownSetting, "unknown setting 'colour'"),
        ("[ports]\nkafak = 1", UnknownSetting, "ports.kafak"),
        ('[ports]\nkafka = "1"', InvalidSetting, "must be int"),
        ("ports = 1", InvalidSetting, "must be a table"),
        ("ports = [", InvalidSetting, "cannot be read"),
    ],
)
def test_a_wrong_settings_file_is_refused_by_name(
    tmp_path: Path, text: str, error: type[Exception], words: str
) -> None:
    (tmp_path / "kappa.toml").write_text(text)
    with pytest.raises(error, match=words):
        load(tmp_path / "state")


def test_a_state_folder_with_a_space_and_a_quote_makes_a_valid_connection_string() -> None:
    settings = Settings(home=Path("/a user's \\dir"))
    read = conninfo_to_dict(settings.dsn("kappa_reader"))
    assert read["passfile"] == str(settings.passfile("kappa_reader"))
    assert "'" not in Settings(home=Path("/plain")).dsn("kappa_reader")


def test_only_the_state_folder_decides_where_files_are(tmp_path: Path) -> None:
    layout = Layout(Settings(home=tmp_path / "state"), tmp_path / "checkout", {})
    assert all(
        folder.is_relative_to(tmp_path / "state") for folder in (layout.logs, layout.run, layout.kafka, layout.airflow)
    )
    assert layout.jar_cache.is_relative_to(tmp_path / "checkout")


def test_a_named_cache_is_used_by_every_process_of_the_stack(tmp_path: Path) -> None:
    layout = Layout(Settings(home=tmp_path / "state"), tmp_path / "checkout", {"KAPPA_CACHE": str(tmp_path / "kept")})
    assert layout.jar_cache == tmp_path / "kept" / "jars"
    assert layout.surroundings["KAPPA_CACHE"] == str(tmp_path / "kept")
