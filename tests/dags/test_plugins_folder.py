"""What Airflow's plugin manager finds in the plugins folder."""

from __future__ import annotations

from pathlib import Path

from airflow.sdk._shared.module_loading import find_path_from_directory

PLUGINS = Path(__file__).parents[2] / "plugins"


def test_no_module_is_loaded_a_second_time_under_its_bare_name() -> None:
    """Airflow would run each file that it finds here as a top-level module: `plan`, `steps`, `validation`."""
    assert list(find_path_from_directory(str(PLUGINS), ".airflowignore", "glob")) == []
