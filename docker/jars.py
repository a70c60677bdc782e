"""Fetches groups of jars while an image is built: `jars.py FOLDER GROUP...`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from stack.services import jars

if __name__ == "__main__":
    target = Path(sys.argv[1])
    folders = {group: target / group for group in sys.argv[2:]}
    jars.fetch(jars.read(), jars.repository(os.environ), target / "cache", folders)
