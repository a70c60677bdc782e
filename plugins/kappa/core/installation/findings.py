"""What is wrong with a part of an installation, and how to mend it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """`part` is what was tried, as people call it; `wrong` what came of it; `remedy` what to do about that."""

    part: str
    wrong: str
    remedy: str
