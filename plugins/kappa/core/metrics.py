"""The closed list of metrics: what each is called, counts and means. `docs/metrics.md` is made of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """As Prometheus has it: a counter only grows until its process starts anew."""

    GAUGE = "gauge"
    COUNTER = "counter"


class Source(StrEnum):
    """Who tells it."""

    STACK = "stack"
    DRIVER = "driver"


@dataclass(frozen=True)
class Metric:
    """`name` as it is scraped; `unit` is that of its value; `labels` in the order in which values are given."""

    name: str
    kind: Kind
    unit: str
    meaning: str
    labels: tuple[str, ...] = ()
    source: Source = Source.STACK


VERSION = ("job_name", "version")
"""Prometheus itself calls what it scrapes `job`."""


def _of_driver(name: str, unit: str, meaning: str, *more: str, kind: Kind = Kind.GAUGE) -> Metric:
    return Metric(name, kind, unit, meaning, (*VERSION, *more), Source.DRIVER)


def _of_version(name: str, unit: str, meaning: str, *more: str, kind: Kind = Kind.GAUGE) -> Metric:
    return Metric(name, kind, unit, meaning, (*VERSION, *more))


# The stack and its parts.
PART_UP = Metric("kappa_part_up", Kind.GAUGE, "1 or 0", "the part answers (postgres, kafka)", ("part",))
PROCESS_UP = Metric("kappa_process_up", Kind.GAUGE, "1 or 0", "the process of the embedded stack runs", ("process",))
PROCESS_STARTED = Metric("kappa_process_start_timestamp_seconds", Kind.GAUGE, "epoch s", "when the process of the "
                         "embedded stack was started that runs", ("process",))  # fmt: skip
REGISTRY_UP = Metric("kappa_registry_up", Kind.GAUGE, "1 or 0", "the registry could be read; else what is read from it "
                     "is not told")  # fmt: skip
RED_LINES = Metric("kappa_red_lines", Kind.GAUGE, "lines", "red lines by cause: the names of the contract, section 8, "
                   "but `process` and `part` as supervisor, postgres, kafka, spark or airflow, and a failed proof as "
                   "proof", ("cause", "of"))  # fmt: skip
EXPECTED = Metric("kappa_red_lines_expected", Kind.GAUGE, "lines", "those of them that are explained by a run which "
                  "starts or stops the version's driver just now (silent, stalled)", ("cause", "of"))  # fmt: skip
LOOK_SECONDS = Metric("kappa_look_seconds", Kind.GAUGE, "s", "how long the look took that this is told from")
DISK_FREE = Metric("kappa_disk_free_bytes", Kind.GAUGE, "bytes", "free on the disk of the state folder")
DISK_WANTED = Metric("kappa_disk_wanted_bytes", Kind.GAUGE, "bytes", "with less free it is nearly full "
                     "(`alerts.disk_free_mb`)")  # fmt: skip
DISK_SIZE = Metric("kappa_disk_size_bytes", Kind.GAUGE, "bytes", "size of that disk")
CLOCK = Metric("kappa_clock_ahead_seconds", Kind.GAUGE, "s", "by how much the database's clock is ahead of the "
               "monitor's")  # fmt: skip
APPEND_AHEAD = Metric("kappa_newest_append_ahead_seconds", Kind.GAUGE, "s", "by how much the newest append_time that "
                      "was read is ahead of the database's clock; below 0 nothing is wrong")  # fmt: skip
RETENTION = Metric("kappa_retention_seconds", Kind.GAUGE, "s", "how long the log is kept")
LEASES = Metric("kappa_leases", Kind.GAUGE, "leases", "versions that a run holds now")
CHANGES = Metric("kappa_changes_open", Kind.GAUGE, "changes", "deployments and rescales under way")
RELEASES = Metric("kappa_releases_total", Kind.COUNTER, "releases", "hand-overs, ever: promotions and "
                  "roll-backs, no first deployment")  # fmt: skip
HAND_OVER = Metric("kappa_hand_over_seconds", Kind.GAUGE, "s", "for how long the newest hand-over kept the drivers of "
                   "what served before from writing")  # fmt: skip
REPLAYS = Metric("kappa_replays", Kind.GAUGE, "replays", "replays under way", ("phase",))

# Versions, of those that are not retired.
VERSION_INFO = _of_version("kappa_version_info", "1", "the version is there", "state", "desired")
SERVES = _of_version("kappa_version_serves", "1 or 0", "the version serves new windows")
READ = _of_version("kappa_records_read_total", "records", "records read from the log", kind=Kind.COUNTER)
FATES = _of_version("kappa_records_total", "records", "records by fate (contract, section 2)", "fate",
                    kind=Kind.COUNTER)  # fmt: skip
RESIDUAL = _of_version("kappa_accounting_residual_records", "records", "conservation: records read, less all fates; "
                       "anything but 0 is wrong")  # fmt: skip
LAG_RECORDS = _of_version("kappa_lag_records", "records", "records in the log that are not read yet")
LAG_SECONDS = _of_version("kappa_lag_seconds", "s", "age of the oldest one that is not read yet; 0 if all are")
SLACK = _of_version("kappa_retention_slack_seconds", "s", "until the log drops the oldest record "
                    "that is not read yet, at the earliest")  # fmt: skip
COMPLETE = _of_version("kappa_complete_age_seconds", "s", "age of `complete_through`: older windows are final")
COMMITTED = _of_version("kappa_last_commit_timestamp_seconds", "epoch s", "when the newest batch was committed, by the "
                        "database's clock")  # fmt: skip
HEARTBEAT = _of_version("kappa_last_heartbeat_timestamp_seconds", "epoch s", "when the driver was last heard, by the "
                        "database's clock")  # fmt: skip
EPOCH = _of_version("kappa_driver_starts_total", "epochs", "the epoch of the newest driver that was heard: how often "
                    "one took the version over or was shut out; no count of starts, a restart is one to three",
                    kind=Kind.COUNTER)  # fmt: skip
BATCH = _of_version("kappa_batch_seconds", "s", "how long the newest batch took")
DELAY = _of_version("kappa_watermark_delay_seconds", "s", "the watermark's delay")
WATERMARK = _of_version("kappa_watermark_age_seconds", "s", "age of the watermark in force")
SKEW = _of_version("kappa_read_skew_seconds", "s", "how far apart in append time the partitions have been read")
STATE_ROWS = _of_version("kappa_state_rows", "rows", "rows of the state store")
STATE_BYTES = _of_version("kappa_state_bytes", "bytes", "memory of the state store")
REFUSED_SHARE = _of_version("kappa_refused_ratio", "0 to 1", "of what was read in 5 min: refused as dead letter, "
                            "future or late")  # fmt: skip
FUTURE_SHARE = _of_version("kappa_future_ratio", "0 to 1", "of what was read in 5 min: refused as too far ahead")
REPLAY_RATE = _of_version("kappa_replay_records_per_second", "records/s", "of a candidate of a replay under way: what "
                          "it reads, over 3 min")  # fmt: skip
REPLAY_LEFT = _of_version("kappa_replay_left_seconds", "s", "of the same: until it is ready; 0 once it is, not told "
                          "where it comes no nearer")  # fmt: skip

# Drivers: each tells of itself.
DRIVER_PHASE = _of_driver("kappa_driver_batch_phase_seconds", "s", "what the newest batch spent its time on; phases as "
                          "Spark names them", "phase")  # fmt: skip
DRIVER_COMMITTED = _of_driver("kappa_driver_last_commit_timestamp_seconds", "epoch s", "when its newest batch was "
                              "committed, by the database's clock")  # fmt: skip
DRIVER_LAG = _of_driver("kappa_driver_lag_records", "records", "records in the log that it has not read yet")
DRIVER_HEARD = _of_driver("kappa_driver_heard", "1 or 0", "its heartbeats reach the registry")
DRIVER_QUERIES = _of_driver("kappa_driver_query_starts_total", "starts", "how often it started a query",
                            kind=Kind.COUNTER)  # fmt: skip
DRIVER_EVICTIONS = _of_driver("kappa_driver_evictions_total", "evictions", "how often it evicted closed windows",
                              kind=Kind.COUNTER)  # fmt: skip

METRICS: tuple[Metric, ...] = tuple(each for each in list(globals().values()) if isinstance(each, Metric))
"""All of them, in the order in which they stand above."""
