"""The root of every error that is meant for a person."""

from __future__ import annotations


class Refusal(Exception):  # noqa: N818 - it reads as what it is: the system refuses, and says why
    """An error whose message states the rule, the value and the remedy; shown as it is, without a traceback."""
