"""What is old: by age, but never what is in use, nor the last words of each version's newest drivers."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kappa.verbs.retire.old_files_plan import DAY, KEEP, Found, InUse, Kind, decide
from tests.plugins.fake_memory import NOON

HOUR = timedelta(hours=1)


def found(kind: Kind, path: str, age: timedelta, size: int = 10) -> Found:
    """A file or folder of that age."""
    return Found(kind, path, size, NOON - age)


def gone(*listed: Found, use: InUse | None = None) -> set[str]:
    """The paths that go."""
    return {one.path for one in decide(listed, use or InUse(), NOON).gone}


@pytest.mark.parametrize("kind", sorted(KEEP.ages))
def test_each_kind_goes_after_its_time_and_not_before(kind: Kind) -> None:
    age = KEEP.ages[kind]
    assert gone(found(kind, "old", age + HOUR), found(kind, "young", age - HOUR)) == {"old"}


@pytest.mark.parametrize("kind", sorted(KEEP.ages))
def test_what_is_in_use_stays_whatever_its_age(kind: Kind) -> None:
    assert gone(found(kind, "a/b", 400 * DAY), use=InUse(paths={"a/b"})) == set()


def test_every_kind_has_an_age_or_a_limit() -> None:
    assert set(Kind) - set(KEEP.ages) == {Kind.OUTPUT}


def test_of_each_living_version_the_newest_drivers_stay() -> None:
    listed = [found(Kind.DRIVER, f"spark/driver-{n}", n * 2 * DAY) for n in range(1, 13)]
    of = {f"driver-{n}": ("ad_ctr", 1) if n % 2 else ("client_spend", 1) for n in range(1, 11)}
    kept = {1, 3, 5, 2, 4, 6}
    assert gone(*listed, use=InUse(drivers=of)) == {f"spark/driver-{n}" for n in range(1, 13) if n not in kept}
    assert gone(*listed) == {one.path for one in listed}, "of a retired version none stays"


def test_a_version_that_is_started_again_and_again_keeps_all_folders_of_a_day() -> None:
    listed = [found(Kind.DRIVER, f"spark/driver-{n}", n * HOUR) for n in range(20)]
    assert gone(*listed, use=InUse(drivers={f"driver-{n}": ("ad_ctr", 1) for n in range(20)})) == set()


def test_of_very_many_validations_the_newest_stay_and_those_that_a_release_names() -> None:
    listed = [found(Kind.VALIDATION, f"validations/r/{n}", 2 * DAY + n * HOUR) for n in range(KEEP.validations + 5)]
    named = InUse(paths={f"validations/r/{KEEP.validations + 4}"})
    assert gone(*listed, use=named) == {f"validations/r/{n}" for n in range(KEEP.validations, KEEP.validations + 4)}
    today = [found(Kind.VALIDATION, f"validations/r/{n}", HOUR) for n in range(KEEP.validations + 5)]
    assert gone(*today) == set()


def test_an_output_is_cut_to_its_newest_part_unless_its_folder_goes() -> None:
    most = KEEP.output_bytes
    listed = [
        found(Kind.DRIVER, "spark/driver-1", HOUR, 5 * most), found(Kind.OUTPUT, "spark/driver-1/stdout", HOUR, most),
        found(Kind.OUTPUT, "spark/driver-1/stderr", HOUR, most + 7), found(Kind.DRIVER, "spark/driver-10", 9 * DAY),
        found(Kind.OUTPUT, "spark/driver-10/stdout", 9 * DAY, 2 * most),
    ]  # fmt: skip
    plan = decide(listed, InUse(), NOON)
    assert [(one.path, one.bytes) for one in plan.cut] == [("spark/driver-1/stderr", 7)]
    assert [one.path for one in plan.gone] == ["spark/driver-10"]


def test_the_sentence_and_the_audit_have_number_and_bytes_of_each_kind() -> None:
    listed = [found(Kind.TASK_LOG, "a", 31 * DAY, 2_000_000), found(Kind.TASK_LOG, "b", 31 * DAY, 500_000)]
    plan = decide(listed, InUse(), NOON)
    assert plan.sentence() == "2 task logs (2.5 MB)"
    assert plan.to_json() == {"removed": {"task logs": {"count": 2, "bytes": 2_500_000}}}
    assert decide([], InUse(), NOON).sentence() == "no old files"
