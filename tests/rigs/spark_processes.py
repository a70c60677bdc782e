"""What Spark's processes are seen by from outside: their command lines, environments, ports, and answers."""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress

import psutil

from kappa.signed_requests import bearer
from stack import leftovers
from stack.layout import Layout

EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


def drivers(layout: Layout) -> list[psutil.Process]:
    """The JVMs of drivers."""
    return running(layout, "org.apache.spark.deploy.worker.DriverWrapper")


def running(layout: Layout, main: str) -> list[psutil.Process]:
    """The JVMs of the stack with this main class."""
    return [process for process in leftovers.marked(layout.home) if main in words(process)]


def words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def environment(process: psutil.Process) -> str:
    try:
        return str(process.environ())
    except psutil.Error:
        return ""


def listening(layout: Layout) -> set[int]:
    """Every port that a JVM of the stack listens on."""
    jvms = [process for process in leftovers.marked(layout.home) if "bin/java" in "".join(words(process)[:1])]
    return {c.laddr.port for jvm in jvms for c in jvm.net_connections("inet") if c.status == psutil.CONN_LISTEN}


def rpc(port: int) -> bytes:
    """What a port answers to a request of Spark's RPC: length, type, id, and an object's bytes."""
    body = b"\xac\xed\x00\x05"
    message = struct.pack(">bqi", 3, 42, len(body)) + body
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.settimeout(3)
        connection.sendall(struct.pack(">q", len(message) + 8) + message)
        with suppress(TimeoutError):
            return connection.recv(4096)
    return b""


def status(method: str, url: str, headers: Mapping[str, str], body: object = None) -> int:
    """The status of an answer."""
    data = json.dumps(body).encode() if body is not None else None
    typed = {"Content-Type": "application/json", **headers}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, typed, method=method), timeout=20) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as refused:
        return refused.code


def forged(key: str) -> dict[str, dict[str, str]]:
    """What somebody else can put into the header, by name, where a port takes what is signed with `key`."""
    head, body, _ = bearer(key, time.time()).split(".")
    none = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    other = base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip("=")
    tokens = {
        "another key": bearer(other, time.time()),
        "no signature": f"{none}.{body}.",
        "a signature of something else": f"{head}.{body}.{'A' * 43}",
        "signed an hour ago": bearer(key, time.time() - 3600),
    }
    return {"nothing": {}, **{name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()}}
