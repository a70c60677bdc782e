"""The rows that a job serves, as the contract's views show them."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import psycopg
from psycopg.rows import DictRow
from psycopg.sql import SQL, Identifier

from oracle.decode import Event
from oracle.fates import Kept
from oracle.served import ServedDay, ServedRow

Connection = psycopg.Connection[DictRow]
_DAYS, _QUARANTINE = "client_spend", "quarantine"

_MINUTES = SQL("""
select {keys}, (extract(epoch from window_start) * 1000)::bigint as minute,
    impressions, clicks, spend_micros, duplicates, repeated_clicks, ctr::text as ctr, is_final
from serving.{view}
""")
_DAY_ROWS = """
select client_id, budget_day, time_zone, currency, budget_micros, impressions, clicks, spend_micros, finality
from serving.client_spend_day
"""
_KEPT = """
select "partition", "offset", topic, (extract(epoch from append_time) * 1000)::bigint as append_time, fate,
    coalesce(reason, '') <> '' as has_reason, md5(substring(key for 256)) as key, md5(value) as value, value_bytes
from ops.quarantine
"""
_COLUMNS = """
select column_name from information_schema.columns
where table_schema = 'serving' and table_name = %s order by ordinal_position
"""


def rows_of(connection: Connection, job: str) -> dict[str, Any]:
    """`keys`, `minutes`, `days` and `quarantine` of a Served."""
    keys = _keys(connection, job)
    return {
        "keys": keys,
        "minutes": _minutes(connection, job, keys) if keys else None,
        "days": _days(connection) if job == _DAYS else None,
        "quarantine": _quarantine(connection) if job == _QUARANTINE else None,
    }


def _keys(connection: Connection, job: str) -> tuple[str, ...]:
    """The fields by which `serving.<job>_minute` groups: its columns that are fields of an event; none
    without that view."""
    columns = [row["column_name"] for row in connection.execute(_COLUMNS, [f"{job}_minute"])]
    return tuple(column for column in columns if column in Event._fields)


def _minutes(connection: Connection, job: str, keys: tuple[str, ...]) -> dict[tuple[object, ...], ServedRow]:
    query = _MINUTES.format(keys=SQL(", ").join(map(Identifier, keys)), view=Identifier(f"{job}_minute"))
    return {
        (*(row[key] for key in keys), row["minute"]): ServedRow(
            row["impressions"],
            row["clicks"],
            int(row["spend_micros"]),
            row["duplicates"],
            row["repeated_clicks"],
            None if row["ctr"] is None else Decimal(row["ctr"]),
            row["is_final"],
        )
        for row in connection.execute(query)
    }


def _days(connection: Connection) -> dict[tuple[str, date], ServedDay]:
    return {
        (row["client_id"], row["budget_day"]): ServedDay(
            row["time_zone"],
            row["currency"],
            None if row["budget_micros"] is None else int(row["budget_micros"]),
            row["impressions"],
            row["clicks"],
            int(row["spend_micros"]),
            row["finality"],
        )
        for row in connection.execute(_DAY_ROWS)
    }


def _quarantine(connection: Connection) -> dict[tuple[int, int], Kept]:
    rows = connection.execute(_KEPT).fetchall()
    return {(row.pop("partition"), row.pop("offset")): Kept(**row) for row in rows}
