"""What systemd runs on a host: a unit makes the folders that it writes into, as root, before its program starts."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

from cli.entry import CHECKOUT
from stack.provisioning.terraform import Target
from tests.rigs.lab.hosts import Lab
from tests.rigs.lab.provisioned import Provisioned
from tests.stack.provisioning.terraform_tree import TREE

MODULE = TREE / "modules" / "installation"
LOCALS = (MODULE / "locals.tf").read_text()
OWN = "${local.own} "
"""Before a folder: the line that makes it, for the user who runs the program."""


def units() -> dict[str, str]:
    """The text of each unit, by its name."""
    _, *parts = re.split(r'\n +name += "(kappa-[\w-]+)"\n', LOCALS)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def first_prepared(unit: str) -> str:
    """What runs first, before the program."""
    found = re.search(r'prepare += \["([^"]*)"', unit)
    assert found is not None, "nothing runs before the program"
    return found[1]


def test_a_unit_that_writes_below_places_makes_its_folder_first() -> None:
    """Root has made the folder of `places`, so the program's own user may make nothing in it."""
    prepared = {name: first_prepared(unit).removeprefix(OWN) for name, unit in units().items()}
    assert prepared == {
        "kappa-kafka": "${local.log}",
        "kappa-postgres": "+${local.config}/prepare-postgres",
        "kappa-zookeeper": "${local.agreed}",
        "kappa-spark-master": "${local.known}",
        "kappa-monitor": "${local.watching}",
        "kappa-spark-worker": "${local.work}",
    }
    assert re.search(r'own += "\+/usr/bin/install -d -m 0700 -o \$\{var\.users\.kappa\}"\n', LOCALS)
    written = {"kappa-spark-worker": '"--work-dir", local.work,', "kappa-monitor": "KAPPA_HOME = local.watching"}
    assert all(words in units()[name] for name, words in written.items())
    written_by_file = {"data = local.log,", "data = local.agreed,"}
    assert all(words in (MODULE / "main.tf").read_text() for words in written_by_file)


def test_postgres_is_asked_for_its_fast_shutdown_as_elsewhere() -> None:
    """Its own signal to the server alone: another process of Postgres takes the same one for something else."""
    told = {name: re.findall(r"kill += (.*)", unit) for name, unit in units().items()}
    assert told.pop("kappa-postgres") == ['{ signal = "SIGINT", mode = "mixed" }']
    assert set(map(tuple, told.values())) == {("local.usual_end",)}
    assert 'usual_end = { signal = "SIGTERM", mode = "control-group" }\n' in LOCALS
    template = (MODULE / "templates" / "unit.service.tftpl").read_text()
    assert "\nKillSignal=${kill.signal}\nKillMode=${kill.mode}\n" in template
    compose = (CHECKOUT / "docker-compose.yml").read_text()
    assert re.findall(r"stop_signal: (\w+)", compose) == ["SIGINT"]


def test_the_heap_of_each_program_is_chosen_and_small_in_the_lab() -> None:
    used = {
        name: re.search(r"command = concat\(\[var\.programs\.java\], local\.heap\.(\w+),", unit)
        for name, unit in units().items()
    }
    roles = {
        "kappa-kafka": "broker", "kappa-zookeeper": "zookeeper", "kappa-spark-master": "master",
        "kappa-spark-worker": "worker",
    }  # fmt: skip
    assert {name: found[1] for name, found in used.items() if found} == roles
    for file in (MODULE / "variables.tf", TREE / "targets" / "cluster" / "variables.tf"):
        block = file.read_text().split('variable "heap_mb" {')[1].split("\n}\n")[0]
        given = dict(re.findall(r"(\w+) += optional\(number, (\d+)\)", block))
        assert given == {"broker": "1024", "zookeeper": "256", "master": "256", "worker": "256"}
    assert "= var.heap_mb\n" in (TREE / "targets" / "cluster" / "main.tf").read_text()
    lab = Provisioned(Lab(Path("/lab"), ()), Target("cluster", CHECKOUT, Path("/lab"), (), {})).variables()
    assert lab["heap_mb"] == dict.fromkeys(given, 256), "nine hosts are one machine there"


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="acts as another user, as root does")
def test_a_data_folder_that_was_made_in_part_is_made_again(tmp_path: Path) -> None:
    """initdb writes PG_VERSION first, so that file alone says nothing."""
    script = prepare_postgres(tmp_path, tmp_path / "data", "root")
    runs = []
    for ends in ("exit 1", "touch $2/global", "exit 1"):
        (tmp_path / "initdb").write_text(f"#!/bin/sh\nset -e\nmkdir -p $2\ntest -z $(ls $2)\n>$2/PG_VERSION\n{ends}\n")
        (tmp_path / "initdb").chmod(0o755)
        runs.append(subprocess.run(["sh", "-c", script]).returncode == 0)
    assert runs == [False, True, True], "the third finds it whole"
    assert {file.name for file in (tmp_path / "data").iterdir()} == {"PG_VERSION", "global"}


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="acts as another user, as root does")
@pytest.mark.parametrize(("mode", "then"), [(None, 0o755), (0o700, 0o711), (0o750, 0o751), (0o755, 0o755)])
def test_postgres_passes_the_folder_around_its_own(mode: int | None, then: int) -> None:
    """That one is not there, or nobody but its owner was let in; nothing else about it changes."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o755)
        around = folder / "places" / "data"
        if mode is not None:
            around.mkdir(parents=True)
            around.chmod(mode)
        script = prepare_postgres(folder, around / "postgres", "nobody")
        (folder / "initdb").write_text("#!/bin/sh\nset -e\n>$2/PG_VERSION\n")
        (folder / "initdb").chmod(0o755)
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, umask=0o077)
        assert (done.returncode, done.stderr) == (0, "")
        assert stat.S_IMODE(around.stat().st_mode) == then
        kept = {path.name: (path.owner(), stat.S_IMODE(path.stat().st_mode)) for path in around.iterdir()}
        assert kept == {"postgres": ("nobody", 0o700), "postgres.tls": ("nobody", 0o700)}


def prepare_postgres(folder: Path, data: Path, user: str) -> str:
    """The script as rendered for a host `pg` whose programs and secrets are in a folder, which gets the secrets."""
    given = {"bin": folder, "data": data, "user": user, "host": "pg", "secrets": folder}
    (folder / "tls").mkdir()
    for file in ("tls/pg.crt", "tls/pg.key", "postgres.pgpass"):
        (folder / file).write_text("pg:*:*:postgres:word\n")
    template = (MODULE / "templates" / "prepare-postgres.tftpl").read_text()
    return re.sub(r"\$\{(\w+)\}", lambda named: str(given[named[1]]), template)
