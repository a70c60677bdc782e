"""What the registry keeps of a version that is made: among others since when the log holds what it is to read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest

from kappa.registry.postgres import PostgresRegistry
from stack.layout import Layout
from tests.plugins.registries import BY, PostgresTrial, version

pytestmark = pytest.mark.rig
FROM = """
select "partition", (extract(epoch from unread_from) * 1000)::bigint from ops.progress where job = %s order by 1"""


@pytest.fixture
def trial(parts: Layout, job: str) -> Iterator[PostgresTrial]:
    with PostgresTrial(job, parts.settings).prepared() as prepared:
        yield prepared


def test_of_what_was_not_read_it_is_kept_since_when_the_log_holds_it(trial: PostgresTrial) -> None:
    settings, job = trial.settings, trial.job
    PostgresRegistry(settings.dsn("kappa_registry")).stage(replace(version(job), first_appended={0: 5_001}), BY, {})
    with psycopg.connect(settings.dsn("kappa_operator")) as connection:
        assert connection.execute(FROM, [job]).fetchall() == [(0, 5_001), (1, None)]
