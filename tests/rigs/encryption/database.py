"""Postgres with and without TLS: how long a client connects, and how long a transaction of a small batch takes."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

import psycopg

from cli.entry import CHECKOUT
from kappa.core.installation.addresses import Postgres
from kappa.core.installation.settings import Settings
from stack.layout import Layout
from stack.services import jars, passwords, postgres
from stack.services.passwords import SUPERUSER
from tests.rigs.certificates import certify
from tests.rigs.jar_server import running
from tests.rigs.lab import parts
from tests.rigs.small_stack import free_ports

CONNECTIONS, TRANSACTIONS, ROWS = 20, 100, 300
_TABLE = "create unlogged table minute (client text, ad text, at bigint, spend bigint, primary key (client, ad, at))"
_UPSERT = """
insert into minute select 'client-' || n %% 50, 'ad-' || n, %(at)s, n from generate_series(1, %(rows)s) n
on conflict (client, ad, at) do update set spend = excluded.spend returning client, ad, at, spend"""


@contextmanager
def both_ways() -> Iterator[tuple[Callable[[], Mapping[str, float]], ...]]:
    """What measures one server without TLS and with it."""
    with _server() as encrypted:
        plain = replace(encrypted, postgres=replace(encrypted.postgres, sslmode="disable"))
        with postgres.superuser(encrypted) as connection:
            connection.execute(_TABLE)
        yield tuple(partial(_measure, settings.dsn(SUPERUSER, "postgres")) for settings in (plain, encrypted))


def _measure(dsn: str) -> Mapping[str, float]:
    connects, commits = [], []
    for _ in range(CONNECTIONS):
        began = time.monotonic()
        with psycopg.connect(dsn) as connection:
            connects.append(time.monotonic() - began)
    with psycopg.connect(dsn) as connection:
        for number in range(TRANSACTIONS):
            began = time.monotonic()
            connection.execute(_UPSERT, {"at": number % 3, "rows": ROWS}).fetchall()
            connection.commit()
            commits.append(time.monotonic() - began)
    return {
        "a client connects to Postgres, ms": median(connects) * 1_000,
        f"a transaction of {ROWS} rows there and back, ms": median(commits) * 1_000,
    }


@contextmanager
def _server() -> Iterator[Settings]:
    """A Postgres of the bench's own that takes both kinds of connections, by settings with TLS; ended afterwards."""
    with tempfile.TemporaryDirectory(prefix="kappa-encryption-") as name:
        folder, port = Path(name), free_ports(1)[0]
        folder.chmod(0o755)
        ca = certify(folder / "tls", [])
        reached = Postgres("localhost", port, "verify-full", str(ca))
        settings = Settings(folder / "state", postgres=reached)
        settings.home.mkdir()
        passwords.make(settings)
        cache = Layout(Settings(CHECKOUT / ".kappa"), CHECKOUT).jar_cache
        jars.fetch([parts.WITH_TLS], jars.repository(os.environ), cache, {"postgres": folder / "pg"})
        parts.unpack_postgres(folder / "pg")
        command = [*parts.postgres(folder, settings).command, "-c", f"port={port}"]
        with (folder / "pg" / "data" / "pg_hba.conf").open("a") as rules:
            rules.write("host all all all scram-sha-256\n")
        with running(command, folder, partial(postgres.healthy, settings)):
            yield settings
