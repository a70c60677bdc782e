"""A request to a page is signed with the installation's key, and a worker's page by a key of its own."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from kappa import signed_requests
from kappa.signed_requests import KeyMissing, worker_key

KEY = "A" * 43


class Page(BaseHTTPRequestHandler):
    """Tells who signed."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/json/" else 404)
        self.end_headers()
        self.wfile.write((self.headers["Authorization"] or "nobody").encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def page() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Page) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The secrets folder of the installation that the environment names."""
    monkeypatch.setenv("KAPPA_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("KAPPA_SETTINGS", raising=False)
    (tmp_path / "state" / "secrets").mkdir(parents=True)
    return tmp_path / "state" / "secrets"


def test_a_page_is_asked_with_the_key_of_the_installation_and_a_workers_with_another(
    page: str, secrets: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (secrets / "spark-rest.key").write_text(f"{KEY}\n")
    assert signed_requests.main([f"{page}/json/"]) == 0
    of_master = capsys.readouterr().out
    assert of_master.startswith("Bearer ")
    assert signed_requests.main([f"{page}/json/", "--worker"]) == 0
    of_worker = capsys.readouterr().out
    assert of_master.rpartition(".")[2] != of_worker.rpartition(".")[2]
    assert signed_requests.main([f"{page}/nothing/"]) == 1


def test_without_a_key_nothing_is_asked(page: str, secrets: Path) -> None:
    with pytest.raises(KeyMissing, match=str(secrets / "spark-rest.key")):
        signed_requests.main([f"{page}/json/"])


def test_a_workers_key_is_as_long_as_the_masters_and_another() -> None:
    assert worker_key(KEY) != KEY
    assert len(worker_key(KEY)) == len(KEY)
    assert worker_key(KEY) == worker_key(KEY), "masters and workers are started from files that were made apart"
