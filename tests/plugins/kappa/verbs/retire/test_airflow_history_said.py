"""Airflow's own history is cleaned once a day; a clean-up that failed says so."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kappa.core.audit import Author
from kappa.verbs.retire import airflow_history
from kappa.verbs.retire.airflow_history import HistoryKept, Said
from tests.plugins.conftest import Stage

SWEEP = Author("airflow", "sweep-1")


class FakeAirflow:
    """Airflow's command: what it was asked, and what it says."""

    def __init__(self, exit_code: int = 0) -> None:
        self.asked: list[list[str]] = []
        self.exit_code = exit_code

    def __call__(self, arguments: list[str], environment: object) -> Said:
        self.asked.append(arguments)
        said = "\nChecking table dag_run\nFound 7 rows meeting deletion criteria.\n\nChecking table log\nFound 0 rows"
        return Said(self.exit_code, said)


@pytest.fixture
def home(stage: Stage) -> Stage:
    (stage.platform.settings.home / "airflow").mkdir(parents=True)
    return stage


def test_airflows_history_is_cleaned_once_a_day_and_the_audit_has_the_rows(home: Stage) -> None:
    run = FakeAirflow()
    assert "removed 7 rows" in airflow_history.clean(home.platform, SWEEP, run)
    assert "not yet time" in airflow_history.clean(home.platform, SWEEP, run)
    assert [one[:2] for one in run.asked] == [["db", "drop-archived"], ["db", "clean"]]
    [(_, entry)] = [one for one in home.registry.audit if one[1].action == airflow_history.ACTION]
    assert entry.evidence["rows"] == {"dag_run": 7}
    home.clock.sleep(timedelta(hours=21).total_seconds())
    assert "removed 7 rows" in airflow_history.clean(home.platform, SWEEP, run)


def test_a_clean_up_that_failed_says_so_and_is_tried_again(home: Stage) -> None:
    with pytest.raises(HistoryKept, match="db drop-archived"):
        airflow_history.clean(home.platform, SWEEP, FakeAirflow(exit_code=1))
    assert "removed 7 rows" in airflow_history.clean(home.platform, SWEEP, FakeAirflow())


def test_what_waits_for_ever_is_not_cleaned_by_age() -> None:
    """The trigger that watches for incidents is as old as the stack; so may a DAG be that was not read for a month."""
    assert not {"trigger", "dag"} & set(airflow_history.TABLES)
