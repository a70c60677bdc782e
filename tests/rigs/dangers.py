"""Changes of a running job's code that Spark takes without a word and counts wrong by, and one that may be made."""

from __future__ import annotations

from tests.rigs.patches import Patch

WINDOWS, FOLD, CATALOGUE = "jobs/transforms/windows.py", "jobs/transforms/fold.py", "plugins/kappa/core/job_catalog.py"

DANGERS = (
    Patch(
        "what arrived, swapped", FOLD,
        "_totals(row, cost, ~is_click, is_click,", "_totals(row, cost, is_click, ~is_click,",
    ),
    Patch(
        "key replaced by one of the same type", CATALOGUE,
        'keys=("client_id", "ad_id")', 'keys=("client_id", "user_id")',
    ),
    Patch("window of 5 minutes", CATALOGUE, "window_ms: int = MINUTE_MS", "window_ms: int = 300_000"),
    Patch(
        "element of the set: the slot instead of the user", WINDOWS,
        'F.col("user_id").cast("binary")', 'F.col("slot_id").cast("binary")',
    ),
    Patch("expression: a click counts twice", FOLD, "np.bincount(row[clicked]", "2 * np.bincount(row[clicked]"),
    Patch(
        "expression: the cost is doubled as it is decoded", "jobs/transforms/decode.py",
        "pa.array([e.cost_micros for e in events]", "pa.array([2 * e.cost_micros for e in events]",
    ),
    Patch(
        "limit: a record as old as is allowed is late", "jobs/transforms/fates.py",
        'age > bounds["allowed_lateness_ms"]', 'age >= bounds["allowed_lateness_ms"]',
    ),
)  # fmt: skip
"""Each is built as an artifact of its own, and each must be refused."""

ALLOWED = Patch(
    "the sink's log says it in other words", "jobs/sinks/batch_sink.py",
    '"batch %s%s: %s records, %s rows, %s ms, %s of it the action"',
    '"committed batch %s%s: %s records, %s rows, %s ms, %s of it the action"',
)  # fmt: skip
"""Changes no number and no state: it is deployed in place."""
