"""A certificate is named a month before it ends, with what makes the next one."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from cli.commands import doctor
from cli.doctor import certificate_ends
from cli.doctor.trial import Tried, carry_out
from kappa.core.installation.addresses import Airflow, Kafka, Places, Postgres
from kappa.core.installation.settings import Settings
from stack.services import certificates


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates of 20 days."""
    folder = tmp_path_factory.mktemp("made")
    certificates.ensure(folder, "kafka", ["localhost"], days=20)
    return folder


def at(folder: Path, ca: str = "") -> Settings:
    """An installation elsewhere, with a folder of secrets."""
    return Settings(
        folder, kafka=Kafka(bootstrap="k:9092", ca=ca), postgres=Postgres(host="pg", sslrootcert=ca),
        airflow=Airflow(url="https://airflow", ca=ca), places=Places(secrets=str(folder)),
    )  # fmt: skip


def tried(settings: Settings) -> dict[str, Tried]:
    return {one.what: one for one in map(carry_out, certificate_ends.trials(settings))}


def wrong(settings: Settings, file: Path) -> tuple[str, str]:
    finding = tried(settings)[f"certificate {file}"].finding
    assert finding is not None
    return finding.wrong, finding.remedy


def test_the_embedded_stack_has_none(tmp_path: Path) -> None:
    assert tried(Settings(tmp_path)) == {}
    assert certificate_ends in doctor.PARTS


def test_one_that_lasts_is_well_and_named_once(tmp_path: Path) -> None:
    certificates.ensure(tmp_path, "kafka", ["localhost"], days=40)
    found = tried(at(tmp_path, str(tmp_path / "ca.pem")))
    assert set(found) == {f"certificate {tmp_path / name}.pem" for name in ("ca", "kafka")}
    assert [one.finding for one in found.values()] == [None, None]
    assert all(one.found.startswith("ends on 20") for one in found.values())


@pytest.mark.parametrize(
    ("days", "said"), [(0, "in 19 days"), (19.5, "in 0 days"), (21, "it has ended")], ids=["soon", "today", "ended"]
)
def test_one_that_ends_within_a_month_or_has_ended_is_named(
    days: float, said: str, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = certificate_ends.now() + timedelta(days)
    monkeypatch.setattr(certificate_ends, "now", lambda: now)
    for name in ("ca.pem", "kafka.pem"):
        problem, _ = wrong(at(made), made / name)
        assert said in problem
        assert "30 days" in problem


def test_what_makes_the_next_one_depends_on_who_made_it(made: Path, tmp_path: Path) -> None:
    _, remedy = wrong(at(made), made / "kafka.pem")
    assert remedy.startswith(f"'docker compose stop', delete {made}/*.pem, ")
    hosts, elsewhere = tmp_path / "hosts", tmp_path / "bought.pem"
    (hosts / "tls").mkdir(parents=True)
    shutil.copy(made / "kafka.pem", hosts / "tls" / "k1.crt")
    shutil.copy(made / "ca.pem", elsewhere)
    _, remedy = wrong(at(hosts), hosts / "tls" / "k1.crt")
    assert "stack.provisioning.host_secrets" in remedy
    worker = tmp_path / "worker"
    worker.mkdir()
    (worker / "host").write_text("w1=spark_worker")
    shutil.copy(made / "ca.pem", worker)
    _, remedy = wrong(at(worker), worker / "ca.pem")
    assert "stack.provisioning.host_secrets" in remedy
    _, remedy = wrong(at(hosts, str(elsewhere)), elsewhere)
    assert remedy.startswith("Ask whoever issued it")


def test_an_authority_that_the_settings_name_must_be_there(tmp_path: Path) -> None:
    problem, remedy = wrong(at(tmp_path, str(tmp_path / "ca.pem")), tmp_path / "ca.pem")
    assert problem == f"{tmp_path / 'ca.pem'} does not exist"
    assert "Copy it" in remedy


def test_keys_and_what_nobody_asks_for_are_left_out(made: Path) -> None:
    named = replace(at(made), postgres=Postgres(host="pg", sslrootcert="system"))
    assert set(tried(named)) == {f"certificate {made / name}.pem" for name in ("ca", "kafka")}
