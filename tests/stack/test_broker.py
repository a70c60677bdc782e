"""The id under which a broker's storage is formatted."""

from __future__ import annotations

from uuid import UUID

from stack.broker import cluster_id


def test_a_cluster_id_never_looks_like_an_option() -> None:
    dashed, plain = UUID(bytes=b"\xf8" + bytes(15)), UUID(bytes=b"\x01" + bytes(15))
    drawn = iter([dashed, dashed, plain])
    found = cluster_id(lambda: next(drawn))
    assert len(found) == 22
    assert not found.startswith("-")
