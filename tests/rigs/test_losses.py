"""What a rig's lost host is said to have cost: batches refused, and who took over."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from jobs.sinks.ledger import Fenced, Owner
from kappa.core.job_catalog import find
from tests.rigs.lab.losses import Loss, Seen, Victim, Watch, Way

LOSS = Loss(Victim.DRIVER, Way.DEAF, 90.0)
OWNER = Owner(find("ad_ctr"), 1, 3, 1, "ad_events", "topic-1")


def seen(*starts: float) -> Seen:
    """A loss after which drivers took over at these seconds."""
    return Seen("w1", 5.0, 1.0, 1.0, starts, [1], 2, 800)


def test_a_batch_that_was_refused_counts_once_however_often_its_driver_says_it(tmp_path: Path) -> None:
    said = {"w1/driver-1/stdout": (7, 7), "w1/driver-1/stderr": (7, 8), "w2/driver-2/stdout": (7,)}
    for name, batches in said.items():
        file = tmp_path / "spark" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{Fenced(OWNER, batch)}\n" for batch in batches))
    installed = cast("Any", SimpleNamespace(lab=SimpleNamespace(folder=tmp_path)))
    assert Watch(installed, "ad_ctr").refused() == 3


def test_a_line_says_when_drivers_took_over_or_that_none_did() -> None:
    assert "; taken over after 8 s, 31 s; 2 batches refused;" in seen(8.2, 31.0).line(LOSS)
    assert "; not taken over; 2 batches refused;" in seen().line(LOSS)
