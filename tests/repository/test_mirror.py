"""The tests mirror the tree: a test lies in the folder of tests/ that is named as the folder that it tests."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
HOMES = {
    "integration": "the whole stack, by what a user does",
    "faults": "the faults of docs/faults.md, each on the cheapest rig",
    "rigs": "what tests stand on, and its own tests",
    "repository": "what holds of the checkout as a whole: layers, references, prose, dependencies, this",
}
"""Folders of tests/ that mirror nothing, and what they are for; beside them lie the parts of the suite itself."""
TOPS = {"kappa": "plugins/kappa", "gate": "great_expectations/gate"}
"""Packages that are imported by another name than that of their folder."""
BY_OTHER_MEANS = {
    "tests/bench/test_figures.py": "the page of figures, and each bench's --help",
    "tests/cli/commands/test_db.py": "the command as a whole, by cli.main",
    "tests/dags": "Airflow reads a DAG's file, nobody imports it",
    "tests/docker": "the files of a stage of an image, run where they are copied to",
    "tests/great_expectations/gate": "a program of its own: started as one, or asked by what it is given",
    "tests/installed": "a wheel, built and installed",
    "tests/jobs/test_state_size.py": "a driver on rig R1",
    "tests/jobs/transforms/test_unstamped.py": "a driver on rig R1",
    "tests/observability": "YAML and JSON, read as such and by promtool",
    "tests/plugins/kappa/console/questions/test_answers_in_airflow.py": "the page in a browser, in a real Airflow",
    "tests/plugins/kappa/console/questions/test_question_page.py": "the page in a browser, as its conftest serves it",
    "tests/plugins/kappa/console/test_console_keyboard.py": "the page in a browser, from what its conftest serves",
    "tests/plugins/kappa/console/test_now_page.py": "the page in a browser, from the console that its conftest serves",
    "tests/plugins/kappa/console/test_releases_page.py": "the page in a browser, from what its conftest serves",
    "tests/plugins/kappa/verbs/test_killed_anywhere.py": "all verbs, by tests/plugins/kill_trials.py",
    "tests/plugins/kappa/verbs/test_killed_in_replays.py": "the replays' verbs, by tests/plugins/replay_kill_trials.py",
    "tests/plugins/kappa/verbs/test_killed_on_postgres.py": "all verbs, by tests/plugins/kill_trials.py",
    "tests/stack/migrations": "SQL: what is in a database once it ran",
}
"""Tests, or folders of them, that reach what they test otherwise than by an import, and how."""


def mirroring_tests() -> list[Path]:
    """The test files that mirror the tree, from the checkout on."""
    found = (file.relative_to(ROOT) for file in TESTS.rglob("test_*.py"))
    return sorted(file for file in found if len(file.parts) > 2 and file.parts[1] not in HOMES)


def mirrored(test: Path) -> Path:
    """The folder that a test's own is named after."""
    return Path(*test.parts[1:-1])


def imported(test: Path) -> set[Path]:
    """Where the modules lie that a test imports."""
    places = set()
    for node in ast.walk(ast.parse((ROOT / test).read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            top, *rest = name.split(".")
            places.add(Path(TOPS.get(top, top), *rest))
    return places


def misplaced(test: Path) -> str | None:
    """What is wrong with a test's place."""
    folder = mirrored(test)
    if not (ROOT / folder).is_dir():
        return f"there is no {folder}"
    if not {str(test), str(test.parent)}.isdisjoint(BY_OTHER_MEANS):
        return None
    return None if any(place.is_relative_to(folder) for place in imported(test)) else f"imports nothing of {folder}"


def test_each_test_lies_where_what_it_tests_lies() -> None:
    assert {str(test): why for test in mirroring_tests() if (why := misplaced(test))} == {}


def test_what_is_excepted_is_there() -> None:
    assert all((ROOT / place).exists() for place in BY_OTHER_MEANS)
    assert {folder.name for folder in TESTS.iterdir() if folder.is_dir()} >= HOMES.keys()


def test_support_lies_in_a_folder_of_the_tree_or_in_a_home() -> None:
    folders = {file.relative_to(TESTS).parent for file in TESTS.rglob("*.py")}
    assert [str(one) for one in folders if one.parts and one.parts[0] not in HOMES and not (ROOT / one).is_dir()] == []


def test_no_two_test_files_have_one_name() -> None:
    """pytest imports them by their names alone, and would take one for the other."""
    files = Counter(file.name for file in TESTS.rglob("test_*.py"))
    assert [name for name, number in files.items() if number > 1] == []
