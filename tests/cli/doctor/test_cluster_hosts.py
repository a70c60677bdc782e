"""The hosts of a real cluster are looked at by a program that runs there, and what one lacks is said by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.commands import doctor
from cli.doctor import cluster_hosts
from cli.doctor.trial import Wrong
from kappa.core.installation.settings import Settings
from kappa.platform import cluster_of
from stack.layout import Layout
from tests.plugins.fakes import FakeClock, FakeCluster, FakeRegistry
from tests.plugins.stages import store_apart


@pytest.mark.rig
@pytest.mark.long(minutes=1)
def test_a_host_is_looked_at_and_a_secret_that_it_lacks_is_named(lone_cluster: Layout) -> None:
    spark = lone_cluster.settings
    cluster, secret = cluster_of(spark), spark.passfile("kappa_writer")
    assert cluster_hosts.look_at_hosts(spark, cluster) == (
        "1 of 1 looked at: clocks, secrets, environment, room, store"
    )
    held = secret.rename(secret.with_suffix(".away"))
    with pytest.raises(Wrong, match=r"kappa_writer\.pgpass cannot be read") as lacks:
        cluster_hosts.look_at_hosts(spark, cluster)
    held.rename(secret)
    assert "as Spark's user, mode 0600" in lacks.value.remedy
    assert [*(spark.shared / "work").iterdir()] == [], "nothing is left"
    assert not [name for name in spark.store.names() if name.startswith(".")]


def test_hosts_are_looked_at_only_when_asked_for_since_it_takes_cores(tmp_path: Path) -> None:
    tried = [[trial.what for trial in doctor.trials(Settings(tmp_path), hosts)] for hosts in (False, True)]
    assert tried[1] == [*tried[0], "each host"]


def test_without_two_free_cores_nothing_is_started(tmp_path: Path) -> None:
    full = FakeCluster(FakeRegistry(FakeClock()))
    full.free = 1
    assert "two free cores" in cluster_hosts.look_at_hosts(Settings(tmp_path), full)
    assert full.submissions == {}


def test_from_where_the_shared_folder_is_not_seen_nothing_is_started(tmp_path: Path) -> None:
    there = store_apart(Settings(tmp_path), tmp_path)
    cluster = FakeCluster(FakeRegistry(FakeClock()))
    assert cluster_hosts.look_at_hosts(there, cluster).startswith("not looked at: the program's code has to lie in the")
    assert cluster.submissions == {}


def test_a_program_that_says_nothing_is_a_finding_and_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_hosts, "SECONDS", 0.0)
    silent = FakeCluster(FakeRegistry(FakeClock()))
    with pytest.raises(Wrong, match="said nothing within 0 s; its driver is RUNNING"):
        cluster_hosts.look_at_hosts(Settings(tmp_path), silent)
    assert silent.running() == []
    assert [*(tmp_path / "work").iterdir()] == []
