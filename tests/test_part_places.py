"""Which files the parts of the suite read, and that no test lies where its part does not look."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.entry import CHECKOUT
from cli.suite import places
from tests import conftest

pytest_plugins = ["pytester"]
CONFTEST = f"""
import sys
sys.path.insert(0, {str(CHECKOUT)!r})
import pytest
from tests.conftest import pytest_itemcollected
@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.rig)])
def trial(request): pass
@pytest.fixture
def spark(): pass
@pytest.fixture
def warm(spark): pass
"""


def test_a_part_reads_the_files_that_say_what_it_needs(tmp_path: Path) -> None:
    said = {"a": "pytest.mark.rig", "b": "def test_b(rig: Rig)", "c": "its origin", "d": "(spark: X)"}
    for name, says in said.items():
        (tmp_path / "tests" / name).mkdir(parents=True)
        (tmp_path / "tests" / name / f"test_{name}.py").write_text(says)
    read = [f"tests/{name}/test_{name}.py" for name in "abcd"]
    assert places("servers", tmp_path) == read[:2]
    assert places("rigs", tmp_path) == [read[1], read[3]]
    assert places("units", tmp_path) == ()
    assert places("faults", tmp_path) == ("tests/faults",)


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ("def test_it(trial): pass", "servers"),
        ("def test_it(warm): pass", "rigs"),
    ],
)
def test_a_test_whose_part_would_not_read_it_is_refused_by_those_that_do(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, body: str, part: str
) -> None:
    monkeypatch.setattr(conftest, "TESTS", pytester.path)
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_silent=body, test_telling=f'"""On a rig (rig: Rig)."""\n{body}')
    ended = pytester.runpytest_inprocess("-m", "not rig", "test_silent.py")
    assert ended.ret == pytest.ExitCode.USAGE_ERROR
    ended.stderr.fnmatch_lines([f"*is of the part '{part}', which reads only files in which*"])
    assert pytester.runpytest_inprocess("--collect-only", "test_telling.py").ret == pytest.ExitCode.OK
