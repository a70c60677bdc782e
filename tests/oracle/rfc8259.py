"""Whether a text is JSON, by rewriting it with the grammar of RFC 8259: slow, and no parser's word for it."""

from __future__ import annotations

import re

_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"')
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null")
_ARRAY, _OBJECT = r"\[(?:V(?:,V)*+)?\]", r"\{(?:S:V(?:,S:V)*+)?\}"
_INNERMOST = re.compile(f"{_ARRAY}|{_OBJECT}".replace("V", "[\x01\x02]").replace("S", "\x01"))


def is_json(text: str, most_levels: int) -> bool:
    """Whether it is one JSON value in which at most so many arrays and objects stand in one another.

    Strings become \\x01 and other values \\x02, which JSON cannot hold as they are; then, level by level, the innermost
    arrays and objects become values, until the text is one.
    """
    if "\x01" in text or "\x02" in text:
        return False
    text = re.sub("[ \t\n\r]", "", _SCALAR.sub("\x02", _STRING.sub("\x01", text)))
    for _level in range(most_levels):
        text = _INNERMOST.sub("\x02", text)
    return text in ("\x01", "\x02")
