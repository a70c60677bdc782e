"""Looking into a database without a registry is refused with what is missing by name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cli.commands import audit
from cli.operator_connection import looking
from kappa.core.installation.no_registry import NoRegistry
from stack.layout import Layout
from stack.services import postgres


@pytest.mark.rig
def test_a_relation_that_is_missing_is_named_with_what_makes_it(parts: Layout) -> None:
    nothing = replace(parts.settings, database="no_registry")
    postgres.ensure_roles(nothing)
    missing = 'relation "ops.audit" does not exist'
    with pytest.raises(NoRegistry, match=missing) as refused, looking(nothing) as connection:
        audit.entries(connection, None, None, 20)
    assert "./kappa db migrate" in str(refused.value)
