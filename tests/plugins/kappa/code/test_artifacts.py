"""Artifacts and digests: what is the same code, what changes numbers, what changes state."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kappa.code import artifacts, digests
from kappa.code.artifacts import AmbiguousArtifact, Code, UnknownArtifact
from kappa.core import environment
from kappa.core.artifact_files import TamperedArtifact
from kappa.core.job_catalog import JOBS
from tests.plugins.fakes import NOON
from tests.plugins.stages import edit

WINDOWS = "jobs/transforms/windows.py"


def code(checkout: Path, job: str = "ad_ctr") -> Code:
    """The fingerprints of one job's code in a checkout."""
    return artifacts.fingerprint(checkout, JOBS[job])


@pytest.mark.parametrize(
    ("old", "new"), [("Doc.", "Other words."), ("# why", "# because"), ("    return", "\n    return")]
)
def test_words_about_code_change_no_digest(checkout: Path, old: str, new: str) -> None:
    before = code(checkout)
    edit(checkout, WINDOWS, old, new)
    assert code(checkout) == before


def test_an_expression_of_the_stateful_module_changes_both_digests(checkout: Path) -> None:
    before = code(checkout)
    edit(checkout, WINDOWS, "a + 1", "a + 2")
    after = code(checkout)
    assert after.state_shape != before.state_shape
    assert after.result_code != before.result_code


@pytest.mark.parametrize("path", ["plugins/kappa/core/fates.py", "jobs/pipelines/pipeline.py"])
def test_an_expression_elsewhere_changes_results_only(checkout: Path, path: str) -> None:
    before = code(checkout)
    edit(checkout, path, "=", "= 1 +")
    after = code(checkout)
    assert after.result_code != before.result_code
    assert after.state_shape == before.state_shape


def test_another_measure_changes_the_results_and_no_state(checkout: Path) -> None:
    before = code(checkout)
    edit(checkout, "plugins/kappa/core/measures.py", "1", "2")
    after = code(checkout)
    assert after.state_shape == before.state_shape
    assert after.result_code != before.result_code


def test_the_other_pipeline_and_the_sink_change_neither(checkout: Path) -> None:
    before = code(checkout)
    edit(checkout, "jobs/pipelines/quarantine.py", "return events", "return None")
    edit(checkout, "jobs/sinks.py", "3", "4")
    assert code(checkout) == before


def test_a_key_more_changes_the_state(checkout: Path) -> None:
    job = JOBS["ad_ctr"]
    wider = replace(job, keys=(*job.keys, "slot_id"))
    folder = checkout
    assert digests.state_shape(folder, wider) != digests.state_shape(folder, job)
    assert digests.result_code(folder, wider, {}) != digests.result_code(folder, job, {})


def test_parts_name_the_definition_that_differs_and_short_constants_by_value(checkout: Path) -> None:
    before = code(checkout).parts
    edit(checkout, WINDOWS, "a + 1", "a + 2")
    edit(checkout, "plugins/kappa/core/fates.py", "2", "3")
    after = code(checkout).parts
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"jobs/transforms/windows.py: fold", "plugins/kappa/core/fates.py: LATE"}
    assert (before["plugins/kappa/core/fates.py: LATE"], after["plugins/kappa/core/fates.py: LATE"]) == ("2", "3")


def test_parts_name_keys_window_and_table_of_the_catalogue(checkout: Path) -> None:
    parts = code(checkout).parts
    assert (parts["keys"], parts["window"], parts["table"]) == ("client_id, ad_id", "60000 ms", "ad_ctr_minute")


def test_parts_of_equal_code_are_equal_whatever_its_comments(checkout: Path) -> None:
    before = code(checkout).parts
    edit(checkout, WINDOWS, "# why", "# because")
    assert code(checkout).parts == before


@pytest.mark.parametrize("path", ["jobs/sources.py", "jobs/session.py"])
def test_where_records_come_from_and_how_spark_is_set_change_results_only(checkout: Path, path: str) -> None:
    (checkout / path).write_text("OPTION = 1\n")
    before = code(checkout)
    edit(checkout, path, "1", "2")
    after = code(checkout)
    assert after.result_code != before.result_code
    assert after.state_shape == before.state_shape
    assert after.parts[f"{path}: OPTION"] == "2"


@pytest.mark.parametrize("package", ["python", "pyspark", "msgspec", "pyarrow", "numpy", "tzdata"])
def test_another_version_of_what_decides_numbers_is_another_result_and_another_artifact(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    before, built = code(checkout), artifacts.build(checkout, tmp_path / "built", NOON)
    there = environment.present()
    monkeypatch.setattr(environment, "present", lambda: {**there, package: "0.0"})
    after, anew = code(checkout), artifacts.build(checkout, tmp_path / "built", NOON.replace(hour=13))
    assert after.result_code != before.result_code
    assert after.state_shape == before.state_shape
    assert (before.parts[f"environment: {package}"], after.parts[f"environment: {package}"]) == (there[package], "0.0")
    assert anew.digest != built.digest
    assert (built.environment, anew.environment) == (there, {**there, package: "0.0"})
    for artifact in (built, anew):
        artifacts.verify(artifacts.find(tmp_path / "built", artifact.digest))


def test_an_artifact_that_names_another_environment_than_it_was_built_in_is_refused(
    checkout: Path, tmp_path: Path
) -> None:
    built = artifacts.build(checkout, tmp_path / "built", NOON)
    manifest = built.folder / "manifest.json"
    manifest.chmod(0o644)
    manifest.write_text(manifest.read_text().replace(f'"{environment.present()["pyspark"]}"', '"9.9.9"'))
    with pytest.raises(TamperedArtifact):
        artifacts.verify(artifacts.find(tmp_path / "built", built.digest))


def test_a_manifest_without_parts_is_still_read(checkout: Path, tmp_path: Path) -> None:
    built = artifacts.build(checkout, tmp_path / "built", NOON)
    manifest = built.folder / "manifest.json"
    held = json.loads(manifest.read_text())
    for one in held["jobs"].values():
        del one["parts"]
    manifest.chmod(0o644)
    manifest.write_text(json.dumps(held))
    old = artifacts.find(tmp_path / "built", built.digest).code("ad_ctr")
    assert old == replace(code(checkout), parts={})


def test_another_topic_is_another_state() -> None:
    assert digests.state_digest("shape", "topic-one") != digests.state_digest("shape", "topic-two")


def test_only_result_settings_are_in_the_result_digest() -> None:
    job = JOBS["ad_ctr"]
    settings = {s.name: s.default for s in job.settings}
    before = digests.result_digest("code", job, settings)
    assert digests.result_digest("code", job, {**settings, "cadence_ms": 5}) == before
    assert digests.result_digest("code", job, {**settings, "allowed_lateness_ms": 5}) != before


def test_building_twice_makes_one_artifact(checkout: Path, tmp_path: Path) -> None:
    first = artifacts.build(checkout, tmp_path / "built", NOON)
    second = artifacts.build(checkout, tmp_path / "built", NOON)
    assert first == second
    assert [p.name for p in (tmp_path / "built").iterdir()] == [first.digest]
    assert first.driver.read_text() == "print('driver')\n"
    assert not first.driver.stat().st_mode & 0o222


def test_the_manifest_says_what_was_built(checkout: Path, tmp_path: Path) -> None:
    built = artifacts.build(checkout, tmp_path / "built", NOON)
    held = json.loads((built.folder / "manifest.json").read_text())
    assert held["digest"] == built.digest
    assert set(held["jobs"]) == set(JOBS)
    assert built.code("ad_ctr") == code(checkout)


def test_any_change_of_a_file_is_another_artifact(checkout: Path, tmp_path: Path) -> None:
    first = artifacts.build(checkout, tmp_path / "built", NOON)
    edit(checkout, WINDOWS, "# why", "# because")
    second = artifacts.build(checkout, tmp_path / "built", NOON.replace(hour=13))
    assert first.digest != second.digest
    assert artifacts.find(tmp_path / "built", "").digest == second.digest
    assert artifacts.find(tmp_path / "built", first.digest[:9]).digest == first.digest
    with pytest.raises(AmbiguousArtifact if first.digest[0] == second.digest[0] else UnknownArtifact):
        artifacts.find(tmp_path / "built", first.digest[0] if first.digest[0] == second.digest[0] else "zz")


def test_a_changed_artifact_is_refused(checkout: Path, tmp_path: Path) -> None:
    built = artifacts.build(checkout, tmp_path / "built", NOON)
    artifacts.verify(built)
    built.driver.chmod(0o644)
    built.driver.write_text("print('other')\n")
    with pytest.raises(TamperedArtifact):
        artifacts.verify(built)
