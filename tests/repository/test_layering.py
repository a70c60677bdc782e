"""Imports go one way: the table of docs/architecture.md, held against the code."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
KAPPA = (
    "core",
    "code",
    "cluster",
    "registry",
    "verbs",
    "airflow",
    "airflow_api",
    "airflow_sign_in",
    "platform",
    "signed_requests",
    "standalone_cluster",
    "status",
    "console",
    "unavailable",
)
TOP = ("cli", "dags", "examples", "stack", "traffic", "oracle", "jobs", "great_expectations")
FOLDERS = {name: name for name in TOP} | {
    f"kappa.{name}": f"plugins/kappa/{name}" for name in KAPPA
}  # fmt: skip
"""The importers of the page: folders, and modules that stand beside them."""
MOST_MODULES = 15


def _table(heading: str) -> dict[str, set[str]]:
    """A two-column table of the page: first cell -> the names in the second."""
    rows = ARCHITECTURE.split(f"| {heading} |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    cells = [[re.findall(r"`([^`]+)`", cell) for cell in row.strip("|").split("|")] for row in rows]
    return {first[0]: set(second) for first, second in cells}


ALLOWED, CONFINED = _table("importer"), _table("package")


def _modules(importer: str) -> list[tuple[str, Path]]:
    """The modules of a folder by name; of a module itself."""
    folder = ROOT / FOLDERS[importer]
    if not folder.is_dir():
        return [(importer, folder.with_suffix(".py"))]
    found = []
    for file in sorted(folder.rglob("*.py")):
        parts = (importer, *file.relative_to(folder).with_suffix("").parts)
        found.append((".".join(parts).removesuffix(".__init__"), file))
    return found


def _imports(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def _within(name: str, packages: set[str]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def _owner(name: str) -> str | None:
    """The importer of the page that a module belongs to; None for others' packages."""
    return next((folder for folder in FOLDERS if _within(name, {folder})), None)


def test_the_page_has_a_row_for_every_folder() -> None:
    assert set(ALLOWED) == set(FOLDERS)
    assert all(_modules(importer) for importer in FOLDERS), "a folder is empty or was moved"
    there = {
        path.stem for path in (ROOT / "plugins" / "kappa").iterdir() if path.suffix == ".py" or [*path.glob("*.py")]
    }
    assert there - {"__init__"} == set(KAPPA)


@pytest.mark.parametrize("importer", FOLDERS)
def test_a_folder_imports_only_what_its_row_allows(importer: str) -> None:
    wrong = {
        f"{module} imports {name}"
        for module, file in _modules(importer)
        for name in _imports(file)
        if _owner(name) not in (importer, None) and not _within(name, ALLOWED[importer])
    }
    assert wrong == set()


@pytest.mark.parametrize("package", CONFINED)
def test_a_package_is_used_only_where_the_page_says(package: str) -> None:
    wrong = {
        f"{module} imports {name}"
        for importer in FOLDERS
        for module, file in _modules(importer)
        for name in _imports(file)
        if _within(name, {package}) and not _within(module, CONFINED[package])
    }
    assert wrong == set()


def test_no_folder_holds_more_modules_than_one_looks_through() -> None:
    """Who opens a folder finds a subfolder that says why, rather than a sixteenth module."""
    files = (file for importer in FOLDERS for _, file in _modules(importer) if "migrations" not in file.parts)
    held = Counter(str(file.parent.relative_to(ROOT)) for file in files if file.name != "__init__.py")
    assert {folder: count for folder, count in held.items() if count > MOST_MODULES} == {}
    assert max(held.values()) > MOST_MODULES // 2, "nothing was counted"


OF_STANDALONE = (
    r"spark://|cores\.max|SparkSubmit\b|deploy-mode|deployMode|driver\.supervise|v1/submissions|submissionId"
)
KNOWS_STANDALONE = {
    "plugins/kappa/standalone_cluster.py",
    "cli/doctor/spark_cluster.py",
    # How the settings name the cluster, and what Airflow lacks to start finite work beside a task.
    "plugins/kappa/core/installation/settings.py",
    "plugins/kappa/core/installation/addresses.py",
    "plugins/kappa/core/installation/connections.py",
    "plugins/kappa/core/installation/needs.py",
    # Each other manager ends the application of a driver that is lost by itself.
    "jobs/driver/applications.py",
}


def test_only_the_adapter_knows_how_a_standalone_cluster_is_spoken_to() -> None:
    """Another manager of clusters is another module beside it (docs/clusters.md); the embedded stack has this one."""
    files = {file for importer in FOLDERS if importer != "stack" for _, file in _modules(importer)}
    found = {str(file.relative_to(ROOT)) for file in files if re.search(OF_STANDALONE, file.read_text())}
    assert found == KNOWS_STANDALONE


AT_LOOPBACK = {"plugins/kappa/core/installation/addresses.py"}
"""Names the address of loopback; `stack/` listens there, and everybody else asks the settings where a part is."""
MAY_NAME_IT = {"plugins/kappa/core/installation/settings.py", "plugins/kappa/core/spark_environment.py"}


def test_only_the_settings_and_the_embedded_stack_know_that_a_part_is_on_this_machine() -> None:
    """An address that is written anywhere else holds for one machine only."""
    found = set()
    for folder in FOLDERS.values():
        for file in [ROOT / f"{folder}.py"] if (ROOT / f"{folder}.py").exists() else (ROOT / folder).rglob("*.py"):
            name = str(file.relative_to(ROOT))
            if not name.startswith("stack/") and name not in AT_LOOPBACK | MAY_NAME_IT:
                found |= {name} if re.search(r"127\.0\.0\.1|\bLOOPBACK\b", file.read_text()) else set()
    assert found == set()
