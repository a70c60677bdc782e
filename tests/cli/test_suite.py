"""The parts of `./kappa test`: side by side, none hides another's failure, and an interruption ends all of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path

import psutil
import pytest

from cli.commands import test as testing
from cli.commands.test import closing, parts, run
from cli.suite import Count, Part, Run, Step, end
from kappa.core.spark_environment import search_path
from stack import waiting
from stack.provisioning import providers

CHECKOUT = Path(__file__).resolve().parents[2]


def part(name: str, *scripts: str, counts: bool = False) -> Part:
    return Part(name, [Step(script, ["sh", "-c", script]) for script in scripts], counts=counts)


def pytest_part(folder: Path, body: str, *options: str) -> Part:
    """A part whose pytest runs a file with this body."""
    (folder / "test_it.py").write_text(body)
    tally = ["-p", "tests.tally", "--tally", str(folder / "it.json")]
    quick = [word for name in ("cacheprovider", "hypothesispytest", "anyio") for word in ("-p", f"no:{name}")]
    no_settings = ["-o", "addopts=", "-c", os.devnull]
    command = [sys.executable, "-m", "pytest", "-q", *no_settings, *tally, *quick, str(folder / "test_it.py"), *options]
    return Part("it", [Step("pytest", command)], counts=True)


def finished(folder: Path, planned: Part) -> Run:
    one = Run(planned, folder, CHECKOUT)
    one.finish(time.monotonic() + 60)
    return one


def until(what: str, holds: Callable[[], bool]) -> None:
    """Wait for something; fails the test with its name."""
    assert waiting.until(holds, 30, 0.05), f"not within 30 s: {what}"


def test_a_step_that_fails_does_not_keep_the_next_one_from_running(tmp_path: Path) -> None:
    one = finished(tmp_path, part("checks", "echo first; exit 3", "echo second"))
    assert one.output.read_text() == "first\nsecond\n"
    assert one.faults() == ["checks: echo first; exit 3: exit code 3"]


def test_the_output_of_each_part_is_shown_whole_and_every_failure_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talking = "for i in 1 2 3; do echo {0}; sleep 0.05; done; exit {1}"
    assert run([part("a", talking.format("one", 0)), part("b", talking.format("two", 1))], tmp_path) == 1
    shown = capsys.readouterr()
    assert "one\none\none\n" in shown.out
    assert "two\ntwo\ntwo\n" in shown.out
    assert shown.out.endswith("\n0 passed, 1 failed\n"), "a check that fails is never 0 failed"
    assert "failed: b: " in shown.err


def test_tests_are_counted_each_once_whatever_its_phases_do(tmp_path: Path) -> None:
    body = """
import pytest
@pytest.fixture
def broken():
    yield
    raise ValueError
def test_passes(): pass
def test_fails(): assert False
def test_passes_and_then_its_fixture_fails(broken): pass
@pytest.mark.skip
def test_skipped(): pass
def test_left_out(): pass
"""
    one = finished(tmp_path, pytest_part(tmp_path, body, "-k", "not left_out"))
    count = one.count
    assert count is not None
    assert (count.selected, count.deselected, count.passed, count.skipped) == (4, 1, 1, 1)
    assert [name.split("::")[1] for name in count.failed] == ["test_fails", "test_passes_and_then_its_fixture_fails"]
    assert one.faults() == list(count.failed)


@pytest.mark.parametrize(
    ("body", "options"),
    [("def test_it(): pass", ("-k", "nothing")), ("import pytest\n@pytest.mark.skip\ndef test_it(): pass", ())],
)
def test_a_part_that_executes_no_test_has_failed(tmp_path: Path, body: str, options: Sequence[str]) -> None:
    assert finished(tmp_path, pytest_part(tmp_path, body, *options)).faults() == ["it: no test was executed"]


def test_a_pytest_that_dies_has_failed_and_the_test_that_ran_is_named(tmp_path: Path) -> None:
    body = "import os\ndef test_good(): pass\ndef test_dies(): os._exit(0)"
    one = finished(tmp_path, pytest_part(tmp_path, body))
    assert one.faults() == ["it: pytest: ended before its last test, while test_it.py::test_dies ran"]


def test_a_file_that_cannot_be_imported_counts_as_failed(tmp_path: Path) -> None:
    (name,) = finished(tmp_path, pytest_part(tmp_path, "import no_such_module")).faults()
    assert name.endswith("test_it.py")


def test_an_interruption_ends_every_process_of_every_part_and_lets_pytest_clean_up(tmp_path: Path) -> None:
    body = f"""
import pathlib, subprocess, time, pytest
@pytest.fixture
def started():
    yield subprocess.Popen(["sleep", "61"])
    pathlib.Path(r"{tmp_path}/cleaned").write_text("")
def test_it(started):
    pathlib.Path(r"{tmp_path}/there").write_text("")
    time.sleep(60)
"""
    runs = [
        Run(pytest_part(tmp_path, body), tmp_path, CHECKOUT),
        Run(part("b", "sleep 62", "echo no"), tmp_path, CHECKOUT),
    ]
    until("the test is at work", lambda: (tmp_path / "there").exists())
    begun = [child for child in psutil.Process().children(recursive=True) if _sleeps(child)]
    assert len(begun) >= 2
    end(runs, patience=20)
    assert (tmp_path / "cleaned").exists()
    until("all are gone", lambda: not any(child.is_running() for child in begun))
    assert runs[1].output.read_text() == ""
    assert runs[0].faults() == ["it: pytest: exit code 2, while test_it.py::test_it ran"]


def _sleeps(process: psutil.Process) -> bool:
    """Whether it does; one of another test that has just ended does not."""
    with suppress(psutil.Error):
        return "sleep" in " ".join(process.cmdline())
    return False


def test_a_term_is_an_interruption(tmp_path: Path) -> None:
    """The command itself: its children are gone when it is, and what they have said is shown."""
    script = (
        "import sys; from cli.commands import test as testing; from cli.suite import Part, Step\n"
        "testing.parts = lambda *_: [Part('a', [Step('s', ['sh', '-c', 'echo half; exec sleep 63'])])]\n"
        "import typer; app = typer.Typer(); testing.register(app); app()"
    )
    own = {**os.environ, "PYTHONPATH": search_path(CHECKOUT)}
    command = subprocess.Popen([sys.executable, "-c", script], cwd=CHECKOUT, env=own, stdout=subprocess.PIPE)
    mine = psutil.Process(command.pid)
    until("the step has begun", lambda: any("sleep" in child.name() for child in mine.children()))
    (child,) = mine.children()
    command.send_signal(signal.SIGTERM)
    said, _ = command.communicate(timeout=30)
    assert command.returncode != 0
    assert b"half" in said
    assert not child.is_running()


def test_long_tests_say_beforehand_what_they_take(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    marked = "import pytest\n@pytest.mark.parametrize('n', [1, 2])\n@pytest.mark.long(minutes=7)\ndef test_it(n): pass"
    one = finished(tmp_path, pytest_part(tmp_path, marked))
    assert one.count is not None
    assert one.count.long_minutes == 14
    testing._announce([Run(Part("stack", [], counts=True), tmp_path, CHECKOUT)], set())
    assert capsys.readouterr().err == "", "nothing is known yet"
    (tmp_path / "stack.json").write_text(json.dumps(vars(one.count)))
    testing._announce([Run(Part("stack", [], counts=True), tmp_path, CHECKOUT)], set())
    usual = testing.USUAL_MINUTES["stack"]
    assert f"stack: 2 tests, about {usual + 14} min (14 min of them the long ones)" in capsys.readouterr().err


def test_a_long_test_without_its_minutes_is_refused(tmp_path: Path) -> None:
    body = "import pytest\n@pytest.mark.long\ndef test_it(): pass"
    one = finished(tmp_path, pytest_part(tmp_path, body))
    assert "say how long it takes" in one.output.read_text()
    assert one.faults() == ["it: no test was executed"]


def test_the_parts_cover_every_test_once() -> None:
    """What needs Spark is on a rig, and a fault on R1 needs Spark: `tests/conftest.py` marks them so."""
    parted = testing.NEEDS.values()
    for integration, rig in product((False, True), (0, 1, 2, 3)):
        of_test = {"rig": rig > 0, "spark": rig > 1, "r1_fault": rig > 2, "integration": integration}
        assert sum(eval(which, {}, of_test) for which in parted) == 1, of_test
    assert chosen(long=True) == [f"{which} and not provisioning" for which in parted]
    assert chosen(long=False) == [f"{which} and not long" for which in parted]


def chosen(long: bool) -> list[str]:
    """What the parts with tests choose them by."""
    commands = [part.steps[0].command for part in parts(CHECKOUT, Path("/f"), long, []) if part.counts]
    return [command[command.index("-m", command.index("pytest")) + 1] for command in commands]


def test_what_follows_goes_to_one_pytest() -> None:
    checks, tests = parts(CHECKOUT, Path("/f"), long=False, extra=["tests/cli", "-k", "suite"])
    assert (checks.name, tests.name, tests.live) == ("checks", "tests", True)
    assert list(tests.steps[0].command[-5:]) == ["-m", "not long", "tests/cli", "-k", "suite"][-5:]


def test_what_is_applied_for_real_runs_alone_and_its_providers_are_built_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[Path] = []
    monkeypatch.setattr(testing, "executable", lambda environment: "terraform")
    monkeypatch.setattr(providers, "build", lambda checkout, *_: built.append(checkout))
    (tests,) = testing.applied(CHECKOUT, tmp_path, {}, ["-x"])
    assert built == [CHECKOUT]
    assert list(tests.steps[0].command[-5:]) == ["-m", "provisioning", "-s", "-rs", "-x"]


def test_without_terraform_a_line_says_so_and_the_others_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tests,) = testing.applied(CHECKOUT, tmp_path, {"PATH": str(tmp_path)}, [])
    assert "provisioning" in tests.steps[0].command
    assert "no 'terraform' on the PATH. Install Terraform" in " ".join(capsys.readouterr().err.split())


def test_the_closing_line_is_pytests_plain_form() -> None:
    assert closing(12, 0, 0) == "12 passed, 0 failed"
    assert closing(12, 3, 2) == "12 passed, 3 failed, 2 skipped"


def test_where_a_part_is_can_be_told_at_any_moment(tmp_path: Path) -> None:
    one = Run(Part("stack", [], counts=True), tmp_path, CHECKOUT)
    assert testing._progress(one, 5) == "stack: at work after 5 s"
    count = Count(selected=9, passed=2, failed=["x"], running="tests/a.py::test_b", since=time.time() - 40)
    (tmp_path / "stack.json").write_text(json.dumps({**vars(count)}))
    assert testing._progress(one, 90) == "stack: 3 of 9 after 90 s, 1 failed; since 40 s tests/a.py::test_b"
