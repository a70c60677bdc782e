"""What a cluster is told that takes anybody's requests, has no worker, or is not there."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from cli.doctor import airflow_parts, spark_cluster
from cli.doctor.trial import carry_out
from kappa.core.installation.addresses import Airflow, Spark
from kappa.core.installation.findings import Finding
from kappa.core.installation.settings import Settings
from kappa.standalone_cluster import SPARK_VERSION


@contextmanager
def answering(document: dict[str, Any]) -> Iterator[str]:
    """A server that answers every question with 200 and this document, whoever asks; its URL."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(document).encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def found(settings: Settings) -> dict[str, Finding]:
    tried = [carry_out(trial) for trial in (*spark_cluster.trials(settings), *airflow_parts.trials(settings))]
    return {one.what: one.finding for one in tried if one.finding}


def at(home: Path, url: str) -> Settings:
    return replace(Settings(home), spark=Spark("spark://m", (url,), (url,)), airflow=Airflow(url))


def _put_key(home: Path) -> None:
    key = home / "secrets" / "spark-rest.key"
    key.parent.mkdir()
    key.write_text("QUJD")


def test_a_server_that_takes_anybodys_requests_is_named_with_the_filter_that_guards_it(tmp_path: Path) -> None:
    _put_key(tmp_path)
    with answering({"workers": [{"state": "ALIVE", "cores": 4, "coresfree": 1, "memory": 1, "memoryfree": 1}]}) as url:
        finding = found(at(tmp_path, url))
    assert "whoever reaches it may run code" in finding["requests of strangers"].wrong
    assert "JWSFilter" in finding["requests of strangers"].remedy
    assert "whoever reaches it sees" in finding["pages for strangers"].wrong
    assert "spark.ui.filters" in finding["pages for strangers"].remedy
    assert "workers" not in finding


@pytest.mark.parametrize(
    ("told", "wrong"),
    [("3.5.1", "the master is of Spark 3.5.1, and drivers are of 4.2.0"), (SPARK_VERSION, None), (None, None)],
)
def test_a_master_of_another_version_is_named_before_a_driver_is_sent_to_it(
    tmp_path: Path, told: str | None, wrong: str | None
) -> None:
    _put_key(tmp_path)
    with answering({"workers": [], "serverSparkVersion": told} if told else {"workers": []}) as url:
        finding = found(at(tmp_path, url)).get("requests with our key")
    assert (finding.wrong if finding else None) == wrong
    assert finding is None or "spark.master" in finding.remedy


def test_a_missing_key_is_named_with_its_file(tmp_path: Path) -> None:
    with answering({"workers": []}) as url:
        finding = found(at(tmp_path, url))
    key = str(tmp_path / "secrets" / "spark-rest.key")
    assert all(key in finding[tried].wrong for tried in ("requests with our key", "workers"))


def test_a_master_whose_workers_are_all_dead_is_named(tmp_path: Path) -> None:
    _put_key(tmp_path)
    with answering({"workers": [{"state": "DEAD", "cores": 4, "coresfree": 4}]}) as url:
        assert found(at(tmp_path, url))["workers"].wrong == "the master has no live worker"


def test_airflows_parts_that_are_not_healthy_are_named(tmp_path: Path) -> None:
    told = {part: {"status": "healthy"} for part in airflow_parts.PARTS} | {"triggerer": {"status": "unhealthy"}}
    with answering({"workers": [], **told}) as url:
        assert found(at(tmp_path, url))["parts"].wrong == "not healthy: triggerer"


def test_where_nobody_listens_it_is_said_of_each_part(tmp_path: Path) -> None:
    _put_key(tmp_path)
    with answering({}) as url:
        pass
    finding = found(at(tmp_path, url))
    assert "does not answer" in finding["workers"].wrong
    assert "airflow.url" in finding["parts"].remedy
