"""Settings come from a file and from variables, which count more; what nobody knows is named with its source."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kappa.core.installation.layers import InvalidSetting, UnknownSetting
from kappa.core.installation.settings import load, variables


def test_a_variable_counts_more_than_the_file(tmp_path: Path) -> None:
    (tmp_path / "kappa.toml").write_text('[ports]\nkafka = 5\npostgres = 6\n[topic]\nname = "t"')
    settings = load(tmp_path / "state", {"KAPPA__PORTS__KAFKA": "7", "KAPPA__DATABASE": "other", "KAPPA_HOME": "/no"})
    assert (settings.ports.kafka, settings.ports.postgres, settings.topic.name) == (7, 6, "t")
    assert settings.database == "other"


def test_the_file_is_another_one_where_the_environment_names_it(tmp_path: Path) -> None:
    (tmp_path / "there.toml").write_text("[ports]\nkafka = 5\n")
    assert load(tmp_path / "state", {"KAPPA_SETTINGS": str(tmp_path / "there.toml")}).ports.kafka == 5


def test_a_list_a_number_and_a_truth_value_are_written_as_in_toml_and_anything_else_is_text(tmp_path: Path) -> None:
    given = {
        "KAPPA__KAFKA__BOOTSTRAP": "k1:9093",
        "KAPPA__POSTGRES__HOST": "pg",
        "KAPPA__POSTGRES__PORT": "6432",
        "KAPPA__SPARK__MASTER": "spark://m1:7077",
        "KAPPA__SPARK__REST": '["http://m1:6066"]',
        "KAPPA__SPARK__UI": '["http://m1:8080"]',
        "KAPPA__SPARK__ALLOW_PLAIN": "true",
        "KAPPA__AIRFLOW__URL": "https://airflow",
    }
    settings = load(tmp_path / "state", given)
    assert (settings.database_address, settings.spark.rest) == ("pg:6432", ("http://m1:6066",))
    assert settings.spark.allow_plain is True


@pytest.mark.parametrize(
    ("variable", "value", "error", "named"),
    [
        ("KAPPA__PORTS__KAFAK", "5", UnknownSetting, "the environment: unknown setting 'ports.kafak'"),
        ("KAPPA__HOME", "/x", UnknownSetting, "'home'"),
        ("KAPPA__PORTS__KAFKA", "five", InvalidSetting, "ports.kafka' must be int, not 'five'"),
        ("KAPPA__SPARK__REST", "http://m1", InvalidSetting, "spark.rest' must be a list of texts"),
        ("KAPPA__POSTGRES__ALLOW_PLAIN", "yes", InvalidSetting, "must be bool, not 'yes'"),
        ("KAPPA__PORTS", "5", InvalidSetting, r"must be a table \[ports\]"),
    ],
)
def test_a_wrong_variable_is_named(
    tmp_path: Path, variable: str, value: str, error: type[Exception], named: str
) -> None:
    with pytest.raises(error, match=named):
        load(tmp_path / "state", {variable: value})


def test_another_host_has_by_variables_what_a_file_says_here(tmp_path: Path) -> None:
    (tmp_path / "kappa.toml").write_text(
        'database = "5"\n[kafka]\nbootstrap = "k1:9093,k2:9093"\n[postgres]\nhost = "pg"\nport = 6432\n'
        '[spark]\nmaster = "spark://m1:7077"\nrest = ["https://m1:6066"]\nui = ["http://m1:8080"]\nallow_plain = true\n'
        '[airflow]\nurl = "https://airflow"\n[places]\nshared = "/mnt/a \\"b\\""\n[supervision]\nmax_restarts = 3\n'
    )
    here = load(tmp_path / "state", {})
    there = tmp_path / "there" / "state"
    assert load(there, variables(here)) == replace(here, home=there)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "kappa.toml").write_text('[kafka]\nbootstrap = "k1.inside:9092"\n')
    inside = load(there, variables(here))
    assert inside.kafka.bootstrap == "k1.inside:9092", "a host's own file says how the parts are reached from there"
    assert inside.postgres == here.postgres
    assert variables(load(tmp_path / "elsewhere" / "state", {})) == {}, "the embedded stack's processes read its file"


def test_a_path_may_be_given_from_the_folder_of_the_file_on(tmp_path: Path) -> None:
    file = tmp_path / "kappa.toml"
    file.write_text('[places]\nsecrets = "./secrets"\nshared = "/mnt/kappa"\n')
    places = load(tmp_path / "state", {"KAPPA_SETTINGS": str(file)}).places
    assert (places.secrets, places.shared) == (f"{tmp_path}/secrets", "/mnt/kappa")
