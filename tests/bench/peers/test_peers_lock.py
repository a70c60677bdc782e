"""The lock file of the peers: what they are made of, each jar once a group, by a digest."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import bench.peers
from stack.services import jars

JARS = jars.read(Path(bench.peers.__file__).with_name("peers.lock"))


def test_each_group_has_its_engine_and_what_reaches_kafka_and_postgres() -> None:
    held = {group: {jar.name.rsplit("-", 1)[0] for jar in JARS if jar.group == group} for group in ("streams", "flink")}
    assert held["streams"] >= {"kafka-streams", "kafka-clients", "rocksdbjni", "postgresql", "jackson-core"}
    assert any(name.startswith("flink-connector-kafka") for name in held["flink"])
    assert any(name.startswith("flink-connector-jdbc-postgres") for name in held["flink"])
    assert held["flink"] >= {"flink-runtime", "flink-statebackend-rocksdb", "flink-table-planner-loader", "postgresql"}
    assert [jar.name.split("-")[0] for jar in JARS if jar.group == "compiler"] == ["ecj"]


def test_each_line_names_one_jar_by_its_digest_and_place() -> None:
    assert [jar.path for jar in JARS if not re.fullmatch(r"[0-9a-f]{64}", jar.sha256) or jar.size <= 0] == []
    assert [jar.path for jar in JARS if not re.fullmatch(r"[\w./-]+\.jar", jar.path)] == []
    assert [each for each, count in Counter((jar.group, jar.name) for jar in JARS).items() if count > 1] == []


def test_no_group_has_two_versions_of_a_library() -> None:
    libraries = Counter((jar.group, jar.path.rsplit("/", 2)[0]) for jar in JARS)
    assert [library for library, count in libraries.items() if count > 1] == []
