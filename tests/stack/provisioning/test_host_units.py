"""What systemd runs on a host: each unit makes the folders that it writes into, as root, before its program starts."""

from __future__ import annotations

import re

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
        "kappa-spark-master": "${local.known}",
        "kappa-monitor": "${local.watching}",
        "kappa-spark-worker": "${local.work}",
    }
    assert re.search(r'own += "\+/usr/bin/install -d -m 0700 -o \$\{var\.users\.kappa\}"\n', LOCALS)
    written = {"kappa-spark-worker": '"--work-dir", local.work,', "kappa-monitor": "KAPPA_HOME = local.watching"}
    assert all(words in units()[name] for name, words in written.items())
    assert "data = local.log," in (MODULE / "main.tf").read_text()
