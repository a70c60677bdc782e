"""Every fault has a test, every mark names a fault, and docs/faults.md says what the marks say."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.faults.catalogue import FAULTS
from tests.faults.marks import Proof, Tier, UnreadableMark, proofs
from tests.faults.table import NO_TEST, PAGE, ROOT, page

KNOWN = {fault.id for fault in FAULTS}
MARKED = """
    import pytest
    pytestmark = pytest.mark.integration

    @pytest.mark.fault("F1", "a restart " "and no loss")
    def test_plain(): ...

    class TestOfAClass:
        pytestmark = [pytest.mark.long]

        @pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.fault(id="F2", seen="a refusal"))])
        def test_inner(self, n): ...

    rig = pytest.mark.rig

    @rig
    @pytest.mark.fault("F3", "a mark by its name")
    def test_named(): ...

    slow = pytest.mark.long(minutes=5)

    @slow
    @pytest.mark.fault("F6", "one with an argument, by its name")
    def test_named_with_argument(): ...

    def test_unmarked(): ...

    @pytest.mark.fault("F4", "cases of which one is long")
    @pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.long)])
    def test_cases(n): ...

    @pytest.mark.parametrize("n", [pytest.param(2, marks=[pytest.mark.long, pytest.mark.fault("F5", "a long one")])])
    def test_long_case(n): ...
"""


@pytest.fixture(scope="module")
def found() -> list[Proof]:
    """The marks of this project's tests."""
    return proofs(ROOT / "tests", ROOT)


def test_the_faults_are_f1_to_f37() -> None:
    assert [fault.id for fault in FAULTS] == [f"F{number}" for number in range(1, 38)]


def test_a_mark_names_a_fault_of_the_catalogue(found: list[Proof]) -> None:
    assert {(proof.fault, proof.test) for proof in found if proof.fault not in KNOWN} == set()


def test_every_fault_has_a_test(found: list[Proof]) -> None:
    lost = KNOWN - {proof.fault for proof in found}
    assert lost == set(), "a fault has no test: mark one with @pytest.mark.fault(id, seen)"


def test_the_page_is_what_the_marks_make(found: list[Proof]) -> None:
    written = PAGE.read_text()
    assert written == page(written, found), "run: .venv/bin/python -m tests.faults.table"


def test_marks_are_found_on_functions_parameters_and_in_classes_with_their_tier(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(textwrap.dedent(MARKED))
    assert proofs(tmp_path, tmp_path) == [
        Proof("F1", "test_some.py::test_plain", Tier.STACK, "a restart and no loss"),
        Proof("F2", "test_some.py::TestOfAClass::test_inner", Tier.LONG, "a refusal"),
        Proof("F3", "test_some.py::test_named", Tier.STACK, "a mark by its name"),
        Proof("F6", "test_some.py::test_named_with_argument", Tier.LONG, "one with an argument, by its name"),
        Proof("F4", "test_some.py::test_cases", Tier.STACK, "cases of which one is long"),
        Proof("F5", "test_some.py::test_long_case", Tier.LONG, "a long one"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "@pytest.mark.fault('F1')\ndef test_x(): ...",
        "@pytest.mark.fault('F1', f'{1}')\ndef test_x(): ...",
        "POISON = [pytest.param(1, marks=pytest.mark.fault('F18', 'x'))]",
        "@pytest.fixture\n@pytest.mark.fault('F1', 'x')\ndef stage(): ...",
    ],
)
def test_a_mark_that_cannot_be_read_is_refused_with_its_place(tmp_path: Path, text: str) -> None:
    (tmp_path / "test_some.py").write_text(text)
    with pytest.raises(UnreadableMark, match=r"test_some\.py:\d"):
        proofs(tmp_path, tmp_path)


def test_a_fault_without_a_test_is_named_and_one_with_several_has_a_row_each() -> None:
    two = [Proof("F1", "tests/b.py::test_b", Tier.LONG, "late"), Proof("F1", "tests/a.py::test_a", Tier.RIG, "a | b")]
    made = page("Above.\n", two)
    assert page(made, two) == made
    assert made.startswith("Above.\n")
    rows = [line for line in made.splitlines() if line.startswith("|")][2:]
    assert rows[0].startswith("| F1 | driver killed | ")
    assert rows[0].endswith(r" | `a.py::test_a` | rig | a \| b |")
    assert rows[1] == "|  |  |  |  | `b.py::test_b` | long | late |"
    assert sum(NO_TEST in row for row in rows) == len(FAULTS) - 1
