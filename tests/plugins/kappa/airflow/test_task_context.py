"""Who acts in a run: the user of Airflow who triggered it and, from the command line, who typed the command."""

from __future__ import annotations

from typing import Any

import pytest

from kappa.airflow.task_context import actor_of


@pytest.mark.parametrize(
    ("user", "conf", "actor"),
    [
        ("admin", {"typed_by": "ada"}, "ada as admin"),
        ("operator", {}, "operator"),
        ("operator", None, "operator"),
        (None, {}, "airflow"),
        ("admin", {"typed_by": "admin"}, "admin"),
        ("admin", {"typed_by": 7}, "admin"),
        ("admin", {"typed_by": "x" * 65}, "admin"),
        ("admin", {"typed_by": "a\nb"}, "admin"),
    ],
)
def test_the_audit_names_the_user_and_who_typed_it(user: str | None, conf: Any, actor: str) -> None:
    assert actor_of(user, conf) == actor
