"""Writing a batch's rows: COPY into a temporary table, then one upsert in key order that returns what it changed."""

from __future__ import annotations

import io
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.csv
from psycopg import sql

from jobs.sinks.entries import Change
from jobs.transforms.tally import Tally
from kappa.core.job_catalog import Job
from kappa.core.measures import MEASURES

STAGE = sql.Identifier("pg_temp", "stage")
Connection = psycopg.Connection[tuple[Any, ...]]
ROWS_AT_ONCE = 1_000
"""Refused records that are Python objects at the same time."""
QUARANTINE_COLUMNS = ("partition", "offset", "append_time", "fate", "reason", "key", "value", "value_bytes")


def prepare(connection: Connection, job: Job) -> None:
    """Make the connection's temporary table: the job's rows without their version, emptied by each commit."""
    columns = sql.SQL(", ").join(map(sql.Identifier, _columns(job)))
    connection.execute(
        sql.SQL(
            "create temp table if not exists stage on commit delete rows as select {} from data.{} with no data"
        ).format(columns, sql.Identifier(job.table))
    )
    connection.commit()


def copy(cursor: psycopg.Cursor[tuple[Any, ...]], job: Job, rows: pa.Table) -> None:
    """Fill the temporary table; `rows` has the columns of the job's pipeline."""
    if not rows.num_rows:
        return
    names = sql.SQL(", ").join(map(sql.Identifier, _columns(job)))
    statement = sql.SQL("copy stage ({}) from stdin").format(names)
    if job.stateful:
        text = io.BytesIO()
        pyarrow.csv.write_csv(rows.select(list(_columns(job))), text, pyarrow.csv.WriteOptions(include_header=False))
        with cursor.copy(statement + sql.SQL(" (format csv)")) as out:
            out.write(text.getbuffer())
    else:
        with cursor.copy(statement) as out:
            for part in rows.to_batches(max_chunksize=ROWS_AT_ONCE):
                for row in _quarantine_rows(part):
                    out.write_row(row)


def upsert(cursor: psycopg.Cursor[tuple[Any, ...]], job: Job, version: int) -> Change:
    """Write the absolute values of the temporary table's rows and say what that changed."""
    found = cursor.execute(_upsert_statement(job), {"version": version}).fetchone()
    assert found is not None
    sums = [int(value or 0) for value in found[2:]]
    counts = dict(zip(MEASURES, sums, strict=True))
    return Change(
        rows=found[0],
        fallen=found[1],
        impressions=Tally(counts["impressions"], counts["impression_micros"]),
        clicks=Tally(counts["clicks"], counts["click_micros"]),
        seen_impressions=Tally(counts["seen_impressions"], counts["seen_impression_micros"]),
        seen_clicks=Tally(counts["seen_clicks"], counts["seen_click_micros"]),
    )


def append(cursor: psycopg.Cursor[tuple[Any, ...]], version: int, topic: str) -> int:
    """Keep the temporary table's refused records, each once; returns how many were new."""
    names = sql.SQL(", ").join(map(sql.Identifier, QUARANTINE_COLUMNS))
    statement = sql.SQL(
        "insert into data.quarantine (version, topic, {0}) select %s, %s, {0} from stage on conflict do nothing"
    ).format(names)
    return cursor.execute(statement, (version, topic)).rowcount


def _columns(job: Job) -> tuple[str, ...]:
    return (*job.keys, "window_start", *MEASURES) if job.stateful else QUARANTINE_COLUMNS


def _upsert_statement(job: Job) -> sql.Composed:
    keys = [sql.Identifier(name) for name in (*job.keys, "window_start")]
    measures = [sql.Identifier(name) for name in MEASURES]
    comma = sql.SQL(", ")
    changes = comma.join(sql.SQL("new.{0} - coalesce(old.{0}, 0) as {0}").format(measure) for measure in measures)
    fallen = sql.SQL(" or ").join(sql.SQL("{} < 0").format(measure) for measure in measures)
    return sql.SQL(
        "with changed as ("
        "insert into data.{table} (version, {keys}, {measures}) "
        "select %(version)s, {keys}, {measures} from stage order by {keys} "
        "on conflict (version, {keys}) do update set ({measures}) = row({excluded}) "
        "returning {changes}) "
        "select count(*), count(*) filter (where {fallen}), {sums} from changed"
    ).format(
        table=sql.Identifier(job.table),
        keys=comma.join(keys),
        measures=comma.join(measures),
        excluded=comma.join(sql.SQL("excluded.{}").format(measure) for measure in measures),
        changes=changes,
        fallen=fallen,
        sums=comma.join(sql.SQL("sum({})").format(measure) for measure in measures),
    )


def _quarantine_rows(rows: pa.RecordBatch) -> list[tuple[Any, ...]]:
    """The pipeline's rows with append_ms as a timestamp that COPY reads exactly."""
    times = rows.column("append_ms").cast(pa.timestamp("ms", "UTC")).cast(pa.string()).to_pylist()
    others = {name: rows.column(name).to_pylist() for name in rows.schema.names if name != "append_ms"}
    columns = [times if name == "append_time" else others[name] for name in QUARANTINE_COLUMNS]
    return list(zip(*columns, strict=True))
