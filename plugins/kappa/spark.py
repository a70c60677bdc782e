"""The port to the cluster that runs drivers, and its implementation over the REST server of a standalone
master."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

import httpx

from kappa.cluster import Capacity, Host
from kappa.core.refusals import Refusal
from kappa.unavailable import Unreachable

SPARK_VERSION = "4.2.0"
TIMEOUT_SECONDS = 20.0
SIGNED_SECONDS = 60
"""So long a signed request is taken: the clock of the master is this machine's."""


class DriverState(StrEnum):
    """What the cluster says of a submission; GONE when it knows of none by that id."""

    SUBMITTED = "SUBMITTED"
    RUNNING = "RUNNING"
    RELAUNCHING = "RELAUNCHING"
    UNKNOWN = "UNKNOWN"
    FINISHED = "FINISHED"
    FAILED = "FAILED"
    KILLED = "KILLED"
    ERROR = "ERROR"
    GONE = "GONE"


ALIVE = frozenset({DriverState.SUBMITTED, DriverState.RUNNING, DriverState.RELAUNCHING, DriverState.UNKNOWN})
"""States in which a driver runs, or will by itself. UNKNOWN: the master has just been restarted and does
not know yet."""


@dataclass(frozen=True)
class Submission:
    """A driver to start: arguments of SparkSubmit (without secrets), environment, and properties of its
    JVM."""

    name: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    properties: Mapping[str, str]


class SubmissionRefused(Refusal):
    """The cluster took the request and said no."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"Spark refused to start {name}: {message}. No driver was started.")


class KeyMissing(Refusal):
    """There is no key to sign requests with."""

    def __init__(self, key: Path) -> None:
        super().__init__(
            f"the key that requests to Spark's submission server are signed with is missing: {key}. Nothing was asked "
            "of Spark. './kappa down' and './kappa up' make it and put it into force."
        )


class KeyRefused(Refusal):
    """The submission server does not take requests that are signed with this key."""

    def __init__(self, url: str, key: Path) -> None:
        super().__init__(
            f"Spark's submission server at {url} refuses what is signed with {key}: it was started with another key. "
            "It did nothing. './kappa down' and './kappa up' put that key into force."
        )


class Cluster(Protocol):
    """Where drivers run."""

    def submit(self, submission: Submission) -> str:
        """Start a driver and keep it running; the cluster's id of it. Raises Unreachable,
        SubmissionRefused."""

    def status(self, submission_id: str) -> DriverState:
        """What became of a submission. Raises Unreachable."""

    def kill(self, submission_id: str) -> None:
        """End a submission at once, and for good; nothing happens to one that is gone. Raises Unreachable."""

    def capacity(self) -> Capacity:
        """What its live hosts have, in all and free. Raises Unreachable."""


class StandaloneCluster:
    """A standalone master's REST server, each request to it signed with the key in a file; drivers run on its workers,
    supervised. Beside what they name, all but `capacity` raise KeyMissing, KeyRefused."""

    def __init__(self, url: str, page: str, key: Path) -> None:
        self._url, self._page, self._key = f"{url}/v1/submissions", f"{page}/json/", key

    def submit(self, submission: Submission) -> str:
        """Start a driver and keep it running; the cluster's id of it. Raises Unreachable,
        SubmissionRefused."""
        answer = self._call("POST", "create", creation(submission))
        if not answer.get("success"):
            raise SubmissionRefused(submission.name, str(answer.get("message")))
        return str(answer["submissionId"])

    def status(self, submission_id: str) -> DriverState:
        """What became of a submission. Raises Unreachable."""
        state = str(self._call("GET", f"status/{submission_id}").get("driverState"))
        return DriverState(state) if state in DriverState.__members__ else DriverState.GONE

    def kill(self, submission_id: str) -> None:
        """End a submission at once, and for good; nothing happens to one that is gone. Raises Unreachable."""
        self._call("POST", f"kill/{submission_id}", {})

    def capacity(self) -> Capacity:
        """What its live hosts have, in all and free. Raises Unreachable."""
        workers = _read("Spark's master", self._page, _request("Spark's master", "GET", self._page))["workers"]
        return Capacity(tuple(host_of(worker) for worker in workers if worker["state"] == "ALIVE"))

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        part, url = "Spark's submission server", f"{self._url}/{path}"
        answer = _request(part, method, url, body, {"Authorization": f"Bearer {self._token()}"})
        if answer.status_code == httpx.codes.FORBIDDEN:
            raise KeyRefused(url, self._key)
        return _read(part, url, answer)

    def _token(self) -> str:
        try:
            return bearer(self._key.read_text().strip(), time.time())
        except FileNotFoundError:
            raise KeyMissing(self._key) from None


_HEADER = b'{"alg":"HS256","typ":"JWT"}'


def bearer(key: str, now: float) -> str:
    """A token that is signed with a key (base64url) and taken until SIGNED_SECONDS after `now`, in seconds since 1970:
    HS256 of RFC 7515 with the claim `exp` of RFC 7519."""
    claims = json.dumps({"exp": int(now) + SIGNED_SECONDS}).encode()
    signed = f"{_base64url(_HEADER)}.{_base64url(claims)}"
    secret = base64.urlsafe_b64decode(key + "=" * (-len(key) % 4))
    return f"{signed}.{_base64url(hmac.new(secret, signed.encode(), hashlib.sha256).digest())}"


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def host_of(worker: Mapping[str, Any]) -> Host:
    """A worker as the master's page tells of it."""
    return Host(*(int(worker[name]) for name in ("cores", "coresfree", "memory", "memoryfree")))


def creation(submission: Submission) -> dict[str, Any]:
    """The master's request: SparkSubmit itself is the main class, since a standalone cluster takes no
    Python driver."""
    return {
        "action": "CreateSubmissionRequest",
        "clientSparkVersion": SPARK_VERSION,
        "appResource": "",
        "mainClass": "org.apache.spark.deploy.SparkSubmit",
        "appArgs": list(submission.arguments),
        "environmentVariables": dict(submission.environment),
        "sparkProperties": dict(submission.properties),
    }


def _request(
    part: str,
    method: str,
    url: str,
    body: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> httpx.Response:
    try:
        with httpx.Client(timeout=TIMEOUT_SECONDS, trust_env=False) as client:
            return client.request(method, url, json=body, headers=headers)
    except httpx.HTTPError as error:
        raise Unreachable(part, url, error or type(error).__name__) from error


def _read(part: str, url: str, answer: httpx.Response) -> dict[str, Any]:
    try:
        document: dict[str, Any] = answer.json()
        return document
    except ValueError as error:
        raise Unreachable(part, url, error) from error
