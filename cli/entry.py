"""What every command starts from: the checkout and the Settings of its stack."""

from __future__ import annotations

from pathlib import Path

from kappa.core.installation import settings as platform
from kappa.core.installation.settings import Settings

CHECKOUT = Path(__file__).resolve().parents[1]


def settings() -> Settings:
    """The Settings of the stack that this command is about. Raises UnknownSetting, InvalidSetting."""
    return platform.from_environment(CHECKOUT)
