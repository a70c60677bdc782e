"""What the examples are tried on: the state folder and the settings that tests of commands have."""

from __future__ import annotations

from tests.cli.conftest import home as home
from tests.cli.conftest import settings as settings
