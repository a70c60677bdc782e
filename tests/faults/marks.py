"""The marks `fault(id, seen)` of the tests, read from their source without importing it, and each test's tier."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kappa.core.refusals import Refusal


class Tier(StrEnum):
    """What a test needs, the cheapest first."""

    UNIT = "unit"
    RIG = "rig"
    STACK = "stack"
    LONG = "long"


class UnreadableMark(Refusal):
    """A mark that cannot be read from the source as it stands."""

    def __init__(self, file: str, line: int, why: str) -> None:
        super().__init__(
            f'{file}:{line}: {why}. Write @pytest.mark.fault("F3", "what an operator sees") on the test itself.'
        )


@dataclass(frozen=True)
class Proof:
    """A test that proves a fault: `test` is its name as pytest takes it, `seen` what an operator sees."""

    fault: str
    test: str
    tier: Tier
    seen: str


def proofs(folder: Path, root: Path) -> list[Proof]:
    """Every mark of the tests below a folder, with names from `root` on. Raises UnreadableMark."""
    files = sorted(folder.rglob("test_*.py"))
    return [proof for file in files for proof in _of_file(file.read_text(), file.relative_to(root).as_posix())]


def _of_file(text: str, name: str) -> Iterator[Proof]:
    if "mark.fault" not in text:
        return
    module, read = ast.parse(text, name), set()
    for path, call, tier in marked(module, name, "fault"):
        read.add(call)
        yield Proof(_text(call, 0, name), "::".join(path), tier, _text(call, 1, name))
    for call in _calls([module], "fault"):
        if call not in read:
            raise UnreadableMark(name, call.lineno, "a fault is marked, but not on a test")


def marked(module: ast.Module, name: str, mark: str) -> Iterator[tuple[tuple[str, ...], ast.Call, Tier]]:
    """Each use of a mark on a test of a module: the test's path, the mark, and the tier of what bears it."""
    shared, named = list(_assigned(module.body, "pytestmark")), dict(_named(module.body))
    for path, function, above in _functions(module.body, (name,), shared):
        around = [*above, *(named.get(ast.unparse(each), each) for each in function.decorator_list)]
        for call in _calls(around, mark):
            yield path, call, _tier(_of_case(around, call))


def _functions(
    body: Iterable[ast.stmt], path: tuple[str, ...], above: list[ast.expr]
) -> Iterator[tuple[tuple[str, ...], ast.FunctionDef, list[ast.expr]]]:
    """The tests of a body, each with its path and the marks that it inherits."""
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            yield (*path, node.name), node, above
        elif isinstance(node, ast.ClassDef):
            inherited = [*above, *node.decorator_list, *_assigned(node.body, "pytestmark")]
            yield from _functions(node.body, (*path, node.name), inherited)


def _assigned(body: Iterable[ast.stmt], name: str) -> Iterator[ast.expr]:
    for node in body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            yield node.value


def _named(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """The marks that a module has names for, as in `rig = pytest.mark.rig`, also with arguments."""
    for node in body:
        if isinstance(node, ast.Assign) and _mark(node.value.func if isinstance(node.value, ast.Call) else node.value):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))


def _calls(nodes: Iterable[ast.AST], mark: str) -> Iterator[ast.Call]:
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call) and _mark(inner.func) == mark:
                yield inner


def _of_case(nodes: Iterable[ast.AST], mark: ast.Call) -> Iterator[ast.AST]:
    """What decides the tier of a mark: of a test's cases only the one that bears it. Else a test would be as dear as
    the dearest of its cases, and its cheap ones would seem not to be in the suite."""
    for node in nodes:
        if not (isinstance(node, ast.Call) and _mark(node.func) == "parametrize"):
            yield node
            continue
        cases = (inner for inner in ast.walk(node) if isinstance(inner, ast.Call) and _is_case(inner))
        yield from (case for case in cases if mark in ast.walk(case))


def _is_case(call: ast.Call) -> bool:
    return ast.unparse(call.func) == "pytest.param"


def _tier(nodes: Iterable[ast.AST]) -> Tier:
    """The dearest of the marks' tiers."""
    marks = {_mark(inner) for node in nodes for inner in ast.walk(node)}
    tiers = {"long": Tier.LONG, "integration": Tier.STACK, "rig": Tier.RIG}
    return next((tier for mark, tier in tiers.items() if mark in marks), Tier.UNIT)


def _mark(node: ast.AST) -> str | None:
    """The NAME of the expression `pytest.mark.NAME`."""
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "pytest.mark":
        return node.attr
    return None


def _text(call: ast.Call, place: int, file: str) -> str:
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    value = given[place].value if len(given) == 2 and isinstance(given[place], ast.Constant) else None  # type: ignore[attr-defined]
    if not isinstance(value, str):
        raise UnreadableMark(file, call.lineno, "a fault's mark takes two plain strings")
    return value
