"""Nobody but the stack's own user starts, ends or asks for drivers: Spark's master and worker, real and alone."""

from __future__ import annotations

import base64
import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest

from kappa.cluster import DriverState, Submission
from kappa.core.job_catalog import find, resolve
from kappa.core.versions import Desired, State, Version
from kappa.signed_requests import KeyMissing, bearer, signature, worker_key
from kappa.standalone_cluster import SPARK_VERSION, KeyRefused, Master, StandaloneCluster
from kappa.verbs.drivers.submission import submission
from stack import leftovers
from stack.layout import Layout
from stack.services import passwords
from stack.services import spark as cluster
from stack.waiting import until
from tests.rigs.spark_processes import EXECUTOR, drivers, environment, forged, listening, rpc, running, status, words

pytestmark = pytest.mark.rig
NOWHERE, PATIENCE = Master("http://127.0.0.1:1", "http://127.0.0.1:1"), 180
# A driver as the stack starts one: a session, a job in executors or in its own process, and then it stays.
DRIVER = """
import os, pathlib, sys, time
parent = os.getppid()
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
assert spark.sparkContext.parallelize(range(8), 2).sum() == 28
home = sys.argv[sys.argv.index("--home") + 1]
pathlib.Path(home, sys.argv[sys.argv.index("--launch") + 1]).write_text("worked")
while os.getppid() == parent:
    time.sleep(0.2)
os._exit(0)
"""


@pytest.fixture(scope="module")
def guarded(lone_cluster: Layout) -> Layout:
    """Master and worker, and an artifact whose driver works and then only stays."""
    program = lone_cluster.settings.artifacts / "works" / "jobs" / "run.py"
    program.parent.mkdir(parents=True)
    program.write_text(DRIVER)
    assert until(lambda: not drivers(lone_cluster), 60), "a driver of other tests outlives its kill"
    return lone_cluster


def port(layout: Layout) -> StandaloneCluster:
    settings = layout.settings
    return StandaloneCluster([Master(settings.spark_rest[0], settings.spark_ui[0])], settings.spark_key)


def staying(layout: Layout, executors: int) -> tuple[Submission, Path]:
    """A driver's submission, and the file that it writes when its work is done."""
    given = resolve(find("ad_ctr"), {"executors": executors, "executor_cores": 1})
    version: dict[str, Any] = {
        "job": "ad_ctr", "version": 1, "artifact": "works", "settings": given, "topic": "t", "topic_id": "i",
        "state_digest": "s", "result_digest": "r", "state": State.STAGED, "desired": Desired.RUNNING,
        "starts_at": datetime(2026, 1, 1, tzinfo=UTC), "start_offsets": {0: 0},
    }  # fmt: skip
    launch = uuid4()
    return submission(layout.settings, Version(**version), launch), layout.home / str(launch)


@pytest.fixture(
    scope="module",
    params=[pytest.param(0, id="own process", marks=pytest.mark.long(minutes=1)), pytest.param(1, id="an executor")],
)
def driver(request: pytest.FixtureRequest, guarded: Layout) -> Iterator[str]:
    """The submission's id of a driver that has worked, and stays."""
    made, worked = staying(guarded, request.param)
    submission_id = port(guarded).submit(made)
    if not until(worked.exists, PATIENCE):
        said = "\n".join(f"{file}\n{file.read_text()[-3000:]}" for file in guarded.spark.rglob("std*"))
        pytest.fail(f"the driver did not work: {said}")
    yield submission_id
    port(guarded).kill(uuid4(), [submission_id])
    assert until(lambda: not drivers(guarded), 60), "the driver outlived its kill"
    worked.unlink()


def answer(layout: Layout, method: str, path: str, headers: dict[str, str], body: object = None) -> int:
    """The status of an answer of the submission server."""
    return status(method, f"{layout.settings.spark_rest[0]}/v1/submissions/{path}", headers, body)


def test_who_does_not_sign_starts_ends_and_learns_nothing(guarded: Layout, driver: str) -> None:
    create = {
        "action": "CreateSubmissionRequest", "clientSparkVersion": "4.2.0", "appResource": "",
        "mainClass": "org.apache.spark.deploy.SparkSubmit", "appArgs": [], "environmentVariables": {},
        "sparkProperties": {"spark.app.name": "theirs", "spark.master": guarded.settings.spark_master},
    }  # fmt: skip
    asked = {
        (how, path): answer(guarded, method, path, headers, body)
        for how, headers in forged(guarded.settings.spark_key.read_text()).items()
        for method, path, body in (
            ("POST", "create", create),
            ("POST", f"kill/{driver}", {}),
            ("POST", "killall", {}),
            ("GET", f"status/{driver}", None),
            ("GET", "readyz", None),
        )
    }
    assert set(asked.values()) == {403}, {key: status for key, status in asked.items() if status != 403}
    assert len(drivers(guarded)) == 1
    assert port(guarded).state(uuid4(), [driver]) is DriverState.RUNNING


def test_a_key_that_is_not_the_masters_is_a_refusal_that_names_its_file(guarded: Layout, tmp_path: Path) -> None:
    other = tmp_path / "spark-rest.key"
    other.write_text(base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip("="))
    settings = guarded.settings
    with pytest.raises(KeyRefused, match=str(other)):
        StandaloneCluster([Master(settings.spark_rest[0], settings.spark_ui[0])], other).state(uuid4(), ["driver-1"])


def test_without_a_key_nothing_is_asked(tmp_path: Path) -> None:
    with pytest.raises(KeyMissing, match="kappa up"):
        StandaloneCluster([NOWHERE], tmp_path / "spark-rest.key").state(uuid4(), ["driver-1"])


def test_no_port_of_sparks_rpc_reads_a_message_of_who_does_not_know_the_secret(guarded: Layout, driver: str) -> None:
    """Each would else read an object in Java's serialisation, which is a way to run code. Of the other ports those of
    pages and submissions want a signature, that of a driver's Python process waits for a token, and no driver has a
    page."""
    ports, said = guarded.settings.ports, {port: rpc(port) for port in listening(guarded)}
    asked = {port for port, answer in said.items() if b"Expected SaslMessage" in answer}
    assert {ports.spark_master, ports.spark_worker} < asked
    executors = len(running(guarded, EXECUTOR))
    assert len(asked) == 2 + 3 + executors, "a driver has three such ports, an executor has one"
    http = {ports.spark_rest, ports.spark_ui, ports.spark_worker_ui}
    assert [said[port] for port in set(said) - asked - http] == [b""], "Py4J's, which waits for its token"


OF_BOTH = ("/", "/json/", "/metrics/json/", "/logPage/", "/log/", "/static/webui.js", "/nothing/")
OF_MASTER = (
    *OF_BOTH,
    "/app/",
    "/environment/",
    "/workers/kill/",
    "/metrics/master/json/",
    "/metrics/applications/json/",
)
"""Paths of pages, known and unknown. What is no page of theirs is refused before it is looked for."""


def worker_page(layout: Layout) -> str:
    return f"http://127.0.0.1:{layout.settings.ports.spark_worker_ui}"


def test_no_page_of_master_or_worker_answers_who_does_not_sign(guarded: Layout, driver: str) -> None:
    key, master = guarded.settings.spark_key.read_text(), guarded.settings.spark_ui[0]
    of_worker = {"what a worker has": {"Authorization": f"Bearer {bearer(worker_key(key), time.time())}"}}
    asked = {
        (url, how): status("GET", url, headers)
        for page, paths, headers_by_name in (
            (master, OF_MASTER, forged(key) | of_worker),
            (worker_page(guarded), OF_BOTH, forged(worker_key(key))),
        )
        for how, headers in headers_by_name.items()
        for url in (f"{page}{path}" for path in paths)
    }
    assert set(asked.values()) == {403}, {key: status for key, status in asked.items() if status != 403}


def test_who_signs_sees_the_pages(guarded: Layout, driver: str) -> None:
    key, master = guarded.settings.spark_key, guarded.settings.spark_ui[0]
    with urllib.request.urlopen(urllib.request.Request(f"{master}/json/", headers=signature(key)), timeout=20) as said:
        assert driver in said.read().decode()
    log = f"/logPage/?driverId={driver}&logType=stderr"
    for url in (f"{master}/", f"{master}/environment/"):
        assert status("GET", url, signature(key)) == 200
    for url in (f"{worker_page(guarded)}{path}" for path in ("/", "/json/", log)):
        assert status("GET", url, signature(key, of_worker=True)) == 200
    assert answer(guarded, "GET", "readyz", signature(key, of_worker=True)) == 403, "a worker's key starts no driver"


def test_the_pages_of_master_and_worker_only_show(guarded: Layout, driver: str) -> None:
    body = f"id={driver}&terminate=true&host=127.0.0.1".encode()
    signed = signature(guarded.settings.spark_key)
    for action in ("driver/kill", "app/kill", "workers/kill"):
        request = urllib.request.Request(f"{guarded.settings.spark_ui[0]}/{action}/", body, signed, method="POST")
        with suppress(urllib.error.HTTPError):
            urllib.request.urlopen(request, timeout=20).close()
    ended = until(lambda: port(guarded).state(uuid4(), [driver]) is not DriverState.RUNNING, 5)
    assert not ended, "a page ended the driver"
    assert port(guarded).capacity().free_cores >= 0
    assert port(guarded).version() == SPARK_VERSION
    assert cluster.healthy(guarded.settings)


def test_the_secrets_are_in_their_files_and_in_the_environment_of_what_the_worker_starts(
    guarded: Layout, driver: str
) -> None:
    """Nowhere else: no command line, no file of the state folder, no page, no other environment."""
    settings = guarded.settings
    key = settings.spark_key.read_text().strip()
    secrets = {key, worker_key(key), passwords.spark_secret(settings)}
    assert len(secrets) == 3
    everybody = list(psutil.process_iter())
    assert not [p for p in everybody if any(secret in " ".join(words(p)) for secret in secrets)]
    started = leftovers.family(drivers(guarded) + running(guarded, EXECUTOR))
    holders = {p for p in everybody if passwords.spark_secret(settings) in environment(p)}
    assert holders
    assert holders <= started, "drivers, executors and their Python processes"
    assert not [p for p in everybody if any(each in environment(p) for each in (key, worker_key(key)))]
    for file in files(guarded):
        assert not [secret for secret in secrets if secret.encode() in file.read_bytes()], file
    for page in (f"{settings.spark_ui[0]}/environment/", f"{settings.spark_ui[0]}/json/"):
        asked = urllib.request.Request(page, headers=signature(settings.spark_key))
        shown = urllib.request.urlopen(asked, timeout=20).read().decode()
        assert len(shown) > 100
        assert not [secret for secret in secrets if secret in shown], page


def files(layout: Layout) -> list[Path]:
    """What the stack has written, but for the secrets and what was downloaded."""
    kept = {layout.settings.secrets, layout.home / "jars"}
    return [file for file in layout.home.rglob("*") if file.is_file() and not kept & set(file.parents)]
