"""Makes the table of docs/faults.md from the marks of the tests: `python -m tests.faults.table` writes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from tests.faults.catalogue import FAULTS, Fault
from tests.faults.marks import Proof, Tier, proofs

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "faults.md"
BEGIN = "<!-- What follows is made by `.venv/bin/python -m tests.faults.table`; write above this line only. -->\n"
HEAD = ("fault", "what goes wrong", "injection", "must hold besides I1 to I10", "test", "tier", "what is seen")
NO_TEST = "no test yet"


def page(above: str, found: Sequence[Proof]) -> str:
    """The whole page: what people wrote above the line, then the table."""
    rows = [row for fault in FAULTS for row in _rows(fault, [proof for proof in found if proof.fault == fault.id])]
    lines = [_line(HEAD), _line("---" for _ in HEAD), *map(_line, rows)]
    return f"{above.split(BEGIN)[0]}{BEGIN}\n{_summary(found)}\n\n" + "\n".join(lines) + "\n"


def _summary(found: Sequence[Proof]) -> str:
    proved = {proof.fault for proof in found}
    tests = len({proof.test for proof in found})
    tiers = ", ".join(f"{_count(found, tier)} {tier}" for tier in Tier)
    return f"{len(proved)} of {len(FAULTS)} faults have a test; {tests} tests: {tiers}."


def _count(found: Iterable[Proof], tier: Tier) -> int:
    return len({proof.test for proof in found if proof.tier is tier})


def _rows(fault: Fault, found: Sequence[Proof]) -> list[tuple[str, ...]]:
    """One row a test, the cheapest first; the fault is named in the first one only."""
    own = (fault.id, fault.what, fault.injection, fault.must_hold)
    order = sorted(found, key=lambda proof: (list(Tier).index(proof.tier), proof.test))
    tests = [_test(list(same)) for _, same in groupby(order, key=lambda proof: (proof.tier, proof.test))]
    named = [own, *[("",) * len(own)] * (len(tests) - 1)]
    return [(*left, *right) for left, right in zip(named, tests or [(NO_TEST, "", "")], strict=True)]


def _test(same: Sequence[Proof]) -> tuple[str, str, str]:
    """The cells of a test; of several marks of the same fault, as on its parameters, what is seen is joined."""
    seen = "; ".join(dict.fromkeys(proof.seen for proof in same))
    return f"`{same[0].test.removeprefix('tests/')}`", same[0].tier.value, seen


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(PAGE.read_text(), proofs(ROOT / "tests", ROOT)))


if __name__ == "__main__":
    main()
