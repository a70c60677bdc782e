"""The id under which a broker's storage is formatted; and what is left of asking a broker that is away."""

from __future__ import annotations

import threading
from pathlib import Path
from uuid import UUID

from kappa.core.installation.embedded import Ports
from kappa.core.installation.settings import Settings
from stack.services import passwords
from stack.services.kafka import cluster_id, healthy
from stack.waiting import until


def test_a_cluster_id_never_looks_like_an_option() -> None:
    dashed, plain = UUID(bytes=b"\xf8" + bytes(15)), UUID(bytes=b"\x01" + bytes(15))
    drawn = iter([dashed, dashed, plain])
    found = cluster_id(lambda: next(drawn))
    assert len(found) == 22
    assert not found.startswith("-")


def test_asking_for_a_broker_that_is_away_leaves_no_client_behind(tmp_path: Path) -> None:
    settings = Settings(tmp_path, ports=Ports(kafka=1))
    passwords.make(settings)
    before = threading.active_count()
    assert not healthy(settings)
    assert until(lambda: threading.active_count() <= before, 30)
