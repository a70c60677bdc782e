"""The port to the cluster that runs drivers, and its implementation over the REST server of a standalone
master."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

import httpx

from jobs.refusals import Refusal
from kappa.hooks.reach import Unreachable

SPARK_VERSION = "4.2.0"
TIMEOUT_SECONDS = 20.0


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


class Cluster(Protocol):
    """Where drivers run."""

    def submit(self, submission: Submission) -> str:
        """Start a driver and keep it running; the cluster's id of it. Raises Unreachable,
        SubmissionRefused."""

    def status(self, submission_id: str) -> DriverState:
        """What became of a submission. Raises Unreachable."""

    def kill(self, submission_id: str) -> None:
        """End a submission at once, and for good; nothing happens to one that is gone. Raises Unreachable."""

    def free_cores(self) -> int:
        """How many cores of live workers nobody has. Raises Unreachable."""


class StandaloneCluster:
    """A standalone master's REST server; drivers run on its workers, supervised."""

    def __init__(self, url: str, page: str) -> None:
        self._url, self._page = f"{url}/v1/submissions", f"{page}/json/"

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

    def free_cores(self) -> int:
        """How many cores of live workers nobody has. Raises Unreachable."""
        workers = _request("Spark's master", "GET", self._page)["workers"]
        return sum(int(worker["coresfree"]) for worker in workers if worker["state"] == "ALIVE")

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return _request("Spark's submission server", method, f"{self._url}/{path}", body)


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


def _request(part: str, method: str, url: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    try:
        with httpx.Client(timeout=TIMEOUT_SECONDS, trust_env=False) as client:
            answer: dict[str, Any] = client.request(method, url, json=body).json()
            return answer
    except (httpx.HTTPError, ValueError) as error:
        raise Unreachable(part, url, error or type(error).__name__) from error
