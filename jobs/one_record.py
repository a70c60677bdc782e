"""The program that says what the code on its search path makes of one record, by itself: it reads and writes nothing.

It stands beside the checkout's code and is run over an artifact's, older ones too: so it asks of that code only what
all of them have, `decode`, `with_fate` and the schema of a record.
"""
# ruff: noqa: E402 - the path is put right before anything is imported by it

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# Started as a file, this folder comes first on the path and would hide modules of other packages.
sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != Path(__file__).resolve().parent]

from pyspark.sql import SparkSession

from jobs import schemas
from jobs.transforms import decode, fates
from kappa.core import environment


def judged(spark: SparkSession, question: Mapping[str, Any]) -> dict[str, Any]:
    """{"fate", "reason", "event"} of {"record": RECORD with key and value in hexadecimal or None, "settings",
    "starts_at_ms"}; `fate` is None for a record that no rule refuses, `event` for one that is none."""
    held = question["record"]
    row = {**held, **{name: _bytes(held[name]) for name in ("key", "value")}}
    values = [tuple(row[field.name] for field in schemas.RECORD.fields)]
    events = decode.decode(spark.createDataFrame(values, schemas.RECORD))
    found = fates.with_fate(events, question["settings"], question["starts_at_ms"]).collect()[0].asDict()
    fate, reason = found.pop("fate"), found.pop("reason")
    about = {name: _plain(value) for name, value in found.items() if name not in row and value is not None}
    return {"fate": fate, "reason": reason, "event": about or None}


def main() -> None:
    """Answer the question on stdin by a line on stdout, both JSON. Raises OtherEnvironment."""
    environment.check()
    spark = SparkSession.builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    print(json.dumps(judged(spark, json.load(sys.stdin))))


def _bytes(text: str | None) -> bytearray | None:
    return None if text is None else bytearray.fromhex(text)


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes | bytearray) else value


if __name__ == "__main__":
    main()
