"""A receiver of messages: a webhook on loopback that keeps what it is told, and may refuse it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

SECRET = "a-token-nobody-may-see"


@dataclass
class Receiver:
    """What was told, the oldest first; it answers with `status`."""

    url: str = ""
    status: int = 200
    told: list[dict[str, Any]] = field(default_factory=list)

    @property
    def titles(self) -> list[str]:
        """The titles of what it took."""
        return [message["title"] for message in self.told]


@contextmanager
def receiver() -> Iterator[Receiver]:
    """One that listens on a free port while the body runs."""
    made = Receiver()

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if made.status < 300:
                made.told.append(message)
            self.send_response(made.status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Answering) as server:
        made.url = f"json://127.0.0.1:{server.server_port}/hook?-token={SECRET}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()


def put_address(secrets: Path, name: str, url: str) -> Path:
    """The private file of a target's address."""
    secrets.mkdir(parents=True, exist_ok=True)
    file = secrets / f"alert_{name}.url"
    file.write_text(url + "\n")
    file.chmod(0o600)
    return file
