"""The cluster of Spark's standalone manager, over the REST servers of its masters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx

from kappa.cluster import Capacity, DriverState, Host, Submission, SubmissionRefused
from kappa.core.refusals import Refusal
from kappa.signed_requests import signature
from kappa.unavailable import Unreachable

SPARK_VERSION = "4.2.0"
NO_DRIVER = "driver-00000000000000-0000"
"""A name that no driver ever had."""
TIMEOUT_SECONDS = 20.0
LEADS_SECONDS = 5.0
"""So long a master is asked whether it leads, before the next one is."""


class KeyRefused(Refusal):
    """A master does not take requests that are signed with this key."""

    def __init__(self, part: str, url: str, key: Path) -> None:
        super().__init__(
            f"{part} at {url} refuses what is signed with {key}: it was started with another key. It did nothing. "
            "'./kappa down' and './kappa up' put that key into force."
        )


@dataclass(frozen=True)
class Master:
    """A standalone master, by the URLs of its submission server and of its page."""

    rest: str
    page: str


class StandaloneCluster:
    """The masters of a standalone cluster, of which one leads and the others stand by. Requests go to the submission
    server of the one that leads, each signed with the key in a file; drivers run on its workers, supervised. They are
    found by their names, since a master knows of no launch. Beside what they name, all raise KeyMissing, KeyRefused."""

    def __init__(self, masters: Sequence[Master], key: Path, seconds: float = TIMEOUT_SECONDS) -> None:
        """`seconds` is the longest that the page of a master is waited for."""
        self._masters, self._key, self._seconds = masters, key, seconds

    def submit(self, submission: Submission) -> str:
        """Start a driver and keep it running; the master's id of it. Raises Unreachable, SubmissionRefused."""
        answer = self._call("POST", "create", creation(submission))
        if not answer.get("success"):
            raise SubmissionRefused(submission.name, str(answer.get("message")))
        return str(answer["submissionId"])

    def state(self, launch_id: UUID, names: Sequence[str]) -> DriverState:
        """What became of the driver that bears the newest name. Raises Unreachable."""
        return self._status(names[0]) if names else DriverState.GONE

    def kill(self, launch_id: UUID, names: Sequence[str]) -> None:
        """End at once, and for good, whatever bears one of the names. One that is started on another host meanwhile
        finds its launch ended. Raises Unreachable."""
        for name in names:
            self._call("POST", f"kill/{name}", {})

    def capacity(self) -> Capacity:
        """What its live hosts have, in all and free. Raises Unreachable."""
        workers = self._page(self._leader(), self._seconds)["workers"]
        return Capacity(tuple(host_of(worker) for worker in workers if worker["state"] == "ALIVE"))

    def version(self) -> str | None:
        """The version of Spark that the master says it is of, where it does. Raises Unreachable."""
        told = self._call("GET", f"status/{NO_DRIVER}").get("serverSparkVersion")
        return None if told is None else str(told)

    def _status(self, name: str) -> DriverState:
        state = str(self._call("GET", f"status/{name}").get("driverState"))
        return DriverState(state) if state in DriverState.__members__ else DriverState.GONE

    def _leader(self) -> Master:
        """The master that leads: of one that stands by a driver's state is no answer. Raises Unreachable."""
        if len(self._masters) == 1:
            return self._masters[0]
        leader = next(filter(self._leads, self._masters), None)
        if leader is None:
            asked = ", ".join(master.page for master in self._masters)
            raise Unreachable("Spark's master", asked, "none of them leads, as while one takes over from another")
        return leader

    def _leads(self, master: Master) -> bool:
        try:
            return bool(self._page(master, LEADS_SECONDS)["status"] == "ALIVE")
        except Unreachable:
            return False

    def _page(self, master: Master, seconds: float) -> dict[str, Any]:
        return self._signed("Spark's master", "GET", f"{master.page}/json/", seconds=seconds)

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return self._signed("Spark's submission server", method, f"{self._leader().rest}/v1/submissions/{path}", body)

    def _signed(
        self, part: str, method: str, url: str, body: Mapping[str, Any] | None = None, seconds: float = TIMEOUT_SECONDS
    ) -> dict[str, Any]:
        answer = _request(part, method, url, body, signature(self._key), seconds)
        if answer.status_code == httpx.codes.FORBIDDEN:
            raise KeyRefused(part, url, self._key)
        return _read(part, url, answer)


def host_of(worker: Mapping[str, Any]) -> Host:
    """A worker as the master's page tells of it."""
    return Host(*(int(worker[name]) for name in ("cores", "coresfree", "memory", "memoryfree")))


_OF_ITS_JVM = (
    "spark.driver.extraJavaOptions", "spark.authenticate", "spark.ui.enabled", "spark.network.crypto.enabled",
    "spark.network.crypto.saslFallback",
)  # fmt: skip
"""What of its configuration a driver's JVM is given by the worker that starts it, before there is a session."""


def creation(submission: Submission) -> dict[str, Any]:
    """The master's request: SparkSubmit itself is the main class, since a standalone cluster takes no
    Python driver."""
    return {
        "action": "CreateSubmissionRequest",
        "clientSparkVersion": SPARK_VERSION,
        "appResource": "",
        "mainClass": "org.apache.spark.deploy.SparkSubmit",
        "appArgs": [*_options(submission), *submission.arguments],
        "environmentVariables": dict(submission.environment),
        "sparkProperties": _properties(submission),
    }


def _options(submission: Submission) -> list[str]:
    """What SparkSubmit is told: executors of the cluster do the work, or the driver's own process on its worker
    (decision 0011)."""
    master = submission.cluster if submission.executors else f"local[{submission.executor_cores}]"
    options = ["--master", master, "--deploy-mode", "client", "--name", submission.name]
    options += ["--jars", submission.jars] if submission.jars else []
    options += ["--properties-file", str(submission.secret)] if submission.secret else []
    configuration = {
        "spark.cores.max": str(max(1, submission.executors) * submission.executor_cores),
        "spark.executor.cores": str(submission.executor_cores),
        "spark.driver.memory": f"{submission.driver_memory_mb}m",
        **submission.configuration,
    }
    return options + [word for key, value in configuration.items() for word in ("--conf", f"{key}={value}")]


def _properties(submission: Submission) -> dict[str, str]:
    """What the worker needs to start and supervise the driver's JVM."""
    return {
        "spark.app.name": submission.name,
        "spark.master": submission.cluster,
        "spark.submit.deployMode": "cluster",
        "spark.driver.supervise": str(submission.supervised).lower(),
        "spark.driver.memory": f"{submission.driver_memory_mb}m",
        "spark.driver.cores": str(submission.driver_cores),
        "spark.jars": "",
        **{key: submission.configuration[key] for key in _OF_ITS_JVM if key in submission.configuration},
    }


def _request(
    part: str,
    method: str,
    url: str,
    body: Mapping[str, Any] | None,
    headers: Mapping[str, str],
    seconds: float,
) -> httpx.Response:
    try:
        with httpx.Client(timeout=seconds, trust_env=False) as client:
            return client.request(method, url, json=body, headers=headers)
    except httpx.HTTPError as error:
        raise Unreachable(part, url, error or type(error).__name__) from error


def _read(part: str, url: str, answer: httpx.Response) -> dict[str, Any]:
    try:
        document: dict[str, Any] = answer.json()
        return document
    except ValueError as error:
        raise Unreachable(part, url, error) from error
