"""What is said of hosts that differ, of clocks that are off, and of a host that lacks something."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kappa.core.installation.host_facts import HostFacts, Look, findings

OURS = {"python": "3.11", "pyarrow": "21"}
WELL = HostFacts("w1", 0.0, {"spark-auth.properties": 0, "kappa_writer.pgpass": 0}, OURS, "", 10**11)


def said(*hosts: HostFacts) -> list[tuple[str, str]]:
    look = Look.from_json(Look(hosts).to_json())
    return [(found.part, found.wrong) for found in findings(look, OURS, 2 * 10**9)]


def test_of_hosts_that_are_well_nothing_is_said() -> None:
    assert said(WELL, replace(WELL, host="w2", clock_off=1.0)) == []


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"clock_off": 61.0}, "its clock is 61 s or more away"),
        ({"environment": OURS | {"pyarrow": "20"}}, "pyarrow 20 (here 21); artifacts do not run there"),
        ({"secrets": {"spark-auth.properties": None}}, "spark-auth.properties cannot be read"),
        ({"store": "put: no right"}, "the store: put: no right"),
        ({"free_bytes": 10**8}, "0.1 GB are free where Spark works, and 2 GB should be"),
    ],
)
def test_a_host_that_lacks_something_is_named(other: dict[str, object], words: str) -> None:
    [(part, wrong)] = said(WELL, replace(WELL, host="w2", **other))  # type: ignore[arg-type]
    assert part == "w2"
    assert words in wrong


def test_a_secret_that_is_another_one_on_some_hosts_is_named_with_who_has_which() -> None:
    other = {"spark-auth.properties": 0, "kappa_writer.pgpass": 1}
    hosts = (WELL, replace(WELL, host="w2", secrets=other), replace(WELL, host="w3", secrets=other))
    assert said(*hosts) == [("kappa_writer.pgpass", "kappa_writer.pgpass is not the same on w1 and w2, w3")]
