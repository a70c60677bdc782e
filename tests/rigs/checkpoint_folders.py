"""Checkpoints that lie in a folder, as tests make and meddle with them."""

from __future__ import annotations

from pathlib import Path

from kappa.core.checkpoint.reader import Checkpoint
from kappa.core.store.location import Location
from kappa.core.store.places import at


def in_folder(path: Path) -> Checkpoint:
    """The checkpoint in a folder."""
    return Checkpoint(at(path))


def folder_of(found: Checkpoint | Location) -> Path:
    """The folder of a checkpoint, or of a location."""
    place = found.place if isinstance(found, Checkpoint) else found
    return Path(place.key)
