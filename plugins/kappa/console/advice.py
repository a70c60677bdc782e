"""Advice on size as the page *Now* has it: of each job that something serves, also that there is none."""

from __future__ import annotations

from typing import Any

from kappa.console.database import Database
from kappa.core.advice.load import Free
from kappa.core.advice.size import advise
from kappa.status import load


def read(database: Database, free: Free | None) -> dict[str, Any]:
    """{"advice": [as `kappa.core.advice.size.Advice` has it in JSON]}. Raises NotReadable, TooSlow."""
    with database.reading() as connection:
        loads = load.read(connection)
    return {"advice": [advise(each, free).to_json() for each in loads]}
