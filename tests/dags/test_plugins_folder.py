"""What Airflow's plugin manager finds in the plugins folder."""

from __future__ import annotations

from pathlib import Path

from airflow.sdk._shared.module_loading import find_path_from_directory

PLUGINS = Path(__file__).parents[2] / "plugins"


def test_airflow_runs_one_file_here_and_no_module_a_second_time_under_its_bare_name() -> None:
    """Else it would run each file that it finds here as a top-level module: `plan`, `steps`, `validation`."""
    found = find_path_from_directory(str(PLUGINS), ".airflowignore", "glob")
    assert [Path(file).name for file in found] == ["kappa_plugin.py"]
