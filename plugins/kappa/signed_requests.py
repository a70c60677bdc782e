"""Signs requests to Spark's master and workers, each for a short time; run as a program, it prints a page of theirs."""

from __future__ import annotations

import argparse
import base64
import hashlib
import hmac
import json
import sys
import time
from pathlib import Path

import httpx

from kappa.core.installation.settings import from_environment
from kappa.core.refusals import Refusal
from kappa.unavailable import Unreachable

CHECKOUT = Path(__file__).resolve().parents[2]
SIGNED_SECONDS = 60
"""So long a signed request is taken: the clock of the master is this machine's."""
TIMEOUT_SECONDS = 20.0
_HEADER = b'{"alg":"HS256","typ":"JWT"}'
_OF_WORKERS = b"pages of workers"


class KeyMissing(Refusal):
    """There is no key to sign requests with."""

    def __init__(self, key: Path) -> None:
        super().__init__(
            f"the key that requests to Spark's submission server and pages are signed with is missing: {key}. Nothing "
            "was asked of Spark. './kappa down' and './kappa up' make it and put it into force."
        )


def signature(key: Path, *, of_worker: bool = False) -> dict[str, str]:
    """The header of a request to a master, or to the page of a worker, signed with the key in a file. Raises
    KeyMissing."""
    try:
        held = key.read_text().strip()
    except FileNotFoundError:
        raise KeyMissing(key) from None
    return {"Authorization": f"Bearer {bearer(worker_key(held) if of_worker else held, time.time())}"}


def bearer(key: str, now: float) -> str:
    """A token that is signed with a key (base64url) and taken until SIGNED_SECONDS after `now`, in seconds since 1970:
    HS256 of RFC 7515 with the claim `exp` of RFC 7519."""
    claims = json.dumps({"exp": int(now) + SIGNED_SECONDS}).encode()
    signed = f"{_base64url(_HEADER)}.{_base64url(claims)}"
    return f"{signed}.{_base64url(_hashed(key, signed.encode()))}"


def worker_key(key: str) -> str:
    """The key (base64url) of the pages of workers: it follows from that of the masters, which it does not tell. A
    worker's host must not know by what drivers are started."""
    return _base64url(_hashed(key, _OF_WORKERS))


def _hashed(key: str, text: bytes) -> bytes:
    return hmac.new(base64.urlsafe_b64decode(key + "=" * (-len(key) % 4)), text, hashlib.sha256).digest()


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def main(words: list[str] | None = None) -> int:
    """Print what a page answers, asked with the key of the installation that KAPPA_HOME and KAPPA_SETTINGS name, as for
    every command; 1 where it is not 200. Raises KeyMissing, Unreachable."""
    parser = argparse.ArgumentParser(description="Prints a page of Spark's master or of a worker.")
    parser.add_argument("url", help="of a page")
    parser.add_argument("--worker", action="store_true", help="the page is a worker's")
    asked = parser.parse_args(words)
    signed = signature(from_environment(CHECKOUT).spark_key, of_worker=asked.worker)
    try:
        answer = httpx.get(asked.url, headers=signed, timeout=TIMEOUT_SECONDS, trust_env=False)
    except httpx.HTTPError as error:
        raise Unreachable("Spark", asked.url, error or type(error).__name__) from error
    sys.stdout.write(answer.text)
    return 0 if answer.status_code == httpx.codes.OK else 1


if __name__ == "__main__":
    sys.exit(main())
