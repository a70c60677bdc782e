"""What every command starts from: the checkout, the target that is meant, and the Settings of its stack."""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path

from kappa.core.installation import settings as platform
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal

CHECKOUT = Path(__file__).resolve().parents[1]
FILE = "kappa.toml"
"""The installation file. Its secrets, its shared folder and what this host keeps (`state`) may lie beside it."""


def settings() -> Settings:
    """The Settings of the stack that this command is about. Raises UnknownSetting, InvalidSetting."""
    return platform.from_environment(CHECKOUT)


class UnknownTarget(Refusal):
    """No target has this name, or nobody has written its installation file yet."""

    def __init__(self, name: str, file: Path, known: list[str]) -> None:
        there = f"known are {', '.join(known)}" if known else "none is there yet"
        super().__init__(
            f"--target {name}: there is no {file}; {there}. What makes the target writes it: of the target compose, "
            "docker compose up. Nothing was contacted."
        )


def choose_target(name: str, checkout: Path, environment: MutableMapping[str, str]) -> None:
    """Have this command, and what it starts, act on a target. Raises UnknownTarget."""
    folder = checkout / "targets" / name
    if not (folder / FILE).is_file():
        known = sorted(file.parent.name for file in (checkout / "targets").glob(f"*/{FILE}"))
        raise UnknownTarget(name, folder / FILE, known)
    environment["KAPPA_SETTINGS"], environment["KAPPA_HOME"] = str(folder / FILE), str(folder / "state")
