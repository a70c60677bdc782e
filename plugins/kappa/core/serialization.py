"""Values as JSON: frozen dataclasses that are written to a file, a jsonb column or an XCom, and read back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import msgspec


class Serializable:
    """A dataclass of plain values, enums, moments, paths and others that are serializable.

    Reading takes each field by its name: what there is no field for is passed over, and what is not there has its
    default, so that a field may come and go without making older JSON unreadable.
    """

    def to_json(self) -> dict[str, Any]:
        """The value as `json.loads` would give it: lists for tuples, text for enums, moments (ISO 8601) and keys."""
        written: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self, enc_hook=str))
        return written

    @classmethod
    def from_json(cls, held: Mapping[str, Any]) -> Self:
        """The value that JSON, once parsed, or a row of the registry holds. Raises ValueError that names the field."""
        return msgspec.convert(dict(held), cls, str_keys=True, dec_hook=_of_text)


def _of_text(kind: type, written: Any) -> Any:
    """A value of a type that is written as its text, such as a path."""
    return kind(written)
