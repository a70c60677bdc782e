"""The tables that the peers keep, in a schema of their own that readers of the stack may see."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from bench.peers.expected import Rows
from kappa.core.installation.settings import Settings
from stack.services.postgres import OWNER

SCHEMA = "bench_peers"
ROWS = "rows"
NAME = f"{SCHEMA}.{ROWS}"
_MAKE = f"""
drop schema if exists {SCHEMA} cascade;
create schema {SCHEMA};
grant usage on schema {SCHEMA} to kappa_reader;
create table {NAME} (
    client_id text, ad_id text, minute_ms bigint, impressions bigint, clicks bigint, spend_micros bigint,
    primary key (client_id, ad_id, minute_ms));
grant select on {NAME} to kappa_reader"""
_SHOWN = "select client_id, ad_id, minute_ms, impressions, clicks, spend_micros from {}"
COUNTED = "select coalesce(sum(impressions + clicks), 0)::bigint from {}"


def make(settings: Settings) -> None:
    """An empty table under NAME."""
    with _owner(settings) as connection:
        connection.execute(sql.SQL(_MAKE))


def remove(settings: Settings) -> None:
    """Take the schema away."""
    with _owner(settings) as connection:
        connection.execute(sql.SQL(f"drop schema if exists {SCHEMA} cascade"))


def shown(settings: Settings) -> Rows:
    """All rows of the table."""
    with _owner(settings) as connection:
        return {tuple(row[:3]): (row[3], row[4], row[5]) for row in connection.execute(sql.SQL(_SHOWN.format(NAME)))}


def _owner(settings: Settings) -> psycopg.Connection[Any]:
    return psycopg.connect(settings.dsn(OWNER), autocommit=True)
