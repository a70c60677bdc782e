"""A secret that is somewhere is found there."""

from __future__ import annotations

import io
import zipfile
from base64 import b64encode

import pytest

from tests.rigs.held_secrets import found

SECRET = "Zk3-9_xQ4vTt7bLm0pRe"
HELD = {"kappa_owner": SECRET, "other": "of-somebody-else-1234"}


def _zipped(text: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("state", text)
    return packed.getvalue()


@pytest.mark.parametrize("before", ["", "a", "ab", "abc", "user_data = "])
@pytest.mark.parametrize("after", ["", "x", "xy", "\nmore"])
def test_it_is_found_in_whatever_form(before: str, after: str) -> None:
    text = f"{before}{SECRET}{after}".encode()
    for form in (text, b64encode(text), b"user_data: " + b64encode(text) + b"\n"):
        assert found(HELD, {"state": form}) == [("kappa_owner", "state")]


def test_it_is_found_in_what_is_zipped() -> None:
    packed = _zipped(b"password = " + SECRET.encode())
    assert SECRET.encode() not in packed
    assert found(HELD, {"a.tfplan": packed}) == [("kappa_owner", "a.tfplan: state")]


def test_where_there_is_none_none_is_found() -> None:
    part = SECRET[:-3].encode()
    assert found(HELD, {"state": part, "a.tfplan": _zipped(b64encode(part)), "nothing": b""}) == []
