"""What `pyproject.toml` asks for, held against what the code imports."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
DEPENDENCIES: list[str] = PROJECT["project"]["dependencies"]
GROUPS: dict[str, list[str]] = PROJECT["dependency-groups"]
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
"""What only some stores need; it is loaded where it is used, and asked for in words where it is missing."""
OWN = {"jobs", "kappa", "cli", "stack", "oracle", "traffic", "gate"}
DISTRIBUTIONS = {"airflow": "apache-airflow", "great_expectations": "great-expectations", "kafka": "kafka-python"}
"""Packages whose distribution has another name, or one that is spelled otherwise."""
KERNEL, GATE = "plugins/kappa/core", "great_expectations"
FOLDERS = {
    "spark": ("jobs", KERNEL),
    "airflow": ("dags", "plugins", GATE),
    "jars": ("stack/services/jars.py",),
    "monitor": (
        "stack/monitor", "stack/alerts", "stack/status", "stack/supervision.py", "stack/exclusion.py",
        "stack/services/jars.py",
    ),
}  # fmt: skip
"""What of the code an image of that group holds."""
OF_EACH = {"spark": "pyspark", "airflow": "apache-airflow", "jars": "tenacity", "monitor": "apprise"}
"""One package of each, without which nothing was looked at."""
ALL = ("jobs", "dags", "plugins", GATE, "cli", "stack", "oracle", "traffic")


def _imported(folders: tuple[str, ...]) -> set[str]:
    """The distributions that the modules of some folders import by name."""
    names: set[str] = set()
    for file in (file for name in folders for file in _modules(ROOT / name)):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.split(".")[0])
    return {DISTRIBUTIONS.get(name, name).replace("_", "-") for name in names - OWN - sys.stdlib_module_names}


def _modules(place: Path) -> Iterable[Path]:
    return [place] if place.is_file() else place.rglob("*.py")


def _names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^a-z0-9-]", requirement)[0] for requirement in requirements}


OPTIONAL = _names([line for lines in EXTRAS.values() for line in lines])


@pytest.mark.parametrize("group", FOLDERS)
def test_a_group_has_every_package_that_its_code_imports(group: str) -> None:
    imported = _imported(FOLDERS[group])
    assert OF_EACH[group] in imported
    assert imported - _names(GROUPS[group]) - OPTIONAL == set()


def test_a_checkout_has_every_package_that_its_code_imports() -> None:
    assert _imported(ALL) - _names(DEPENDENCIES) - OPTIONAL == set()


@pytest.mark.parametrize("group", FOLDERS)
def test_a_group_asks_for_what_a_checkout_asks_for(group: str) -> None:
    assert set(GROUPS[group]) - set(DEPENDENCIES) == set()


@pytest.mark.parametrize(
    "requirement", [*DEPENDENCIES, *(line for of in (GROUPS, EXTRAS) for lines in of.values() for line in lines)]
)
def test_a_dependency_has_a_lower_and_an_upper_bound(requirement: str) -> None:
    assert re.search(r"==|>=.*,<", requirement)
