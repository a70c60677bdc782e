"""The faults that must be survived, by their stable names."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A fault: what goes wrong, how it is injected on one machine, and what must hold besides I1 to I10."""

    id: str
    what: str
    injection: str
    must_hold: str = ""


FAULTS = (
    Fault("F1", "driver killed", "kill -9 of Python, of the JVM: before foreachBatch, in the transaction, after COMMIT "
          "and before Spark's own commit", "10 of 10 recover"),
    Fault("F2", "killed while recovering", "a second kill 1 to 5 s after the restart, 5 times"),
    Fault("F3", "zombie driver", "SIGSTOP in foreachBatch, a second driver commits 3 batches, SIGCONT",
          "the first writes 0 rows after the take-over and exits within 30 s"),
    Fault("F4", "two deployments at once", "the DAG triggered twice; a running task cleared",
          "one owner; the other ends with the reason"),
    Fault("F5", "last commit file of Spark lost", "rm commits/N"),
    Fault("F6", "offset or commit file cut, metadata lost, a gap", "truncate to 0 and to 50 %",
          "refuses and says so; the documented repair restores it from the database's offsets"),
    Fault("F7", "checkpoint lost", "rm -r", "the start is refused: the database knows better"),
    Fault("F8", "state file cut or old", "truncate, swap in an older one",
          "refused, or repaired by a replay; never wrong numbers"),
    Fault("F9", "Postgres down for 5 min at 500 records/s", "stop -m immediate",
          "the driver is alive, or tries again with longer pauses"),
    Fault("F10", "answer to COMMIT lost", "a proxy that swallows it, 20 times"),
    Fault("F11", "Postgres a black hole", "a proxy that takes what is sent and answers nothing; packets of a host are "
          "dropped", "time-outs end the wait: TCP's within 30 s; where packets are acknowledged, ours 15 s after the "
          "server's own"),
    Fault("F12", "table locked for 60 s; deadlock", "LOCK TABLE; two writers", "no failed run"),
    Fault("F13", "broker killed and restarted", "kill -9 every 20 s, 6 times",
          "exact against what the broker acknowledged"),
    Fault("F14", "broker paused for 60 s", "SIGSTOP"),
    Fault("F15", "retention passed the position", "delete-records",
          "stops and names the lost range; never failOnDataLoss=false"),
    Fault("F16", "topic deleted and made again", "with fewer, then with more records",
          "noticed by the topic's id before the first write"),
    Fault("F17", "partitions added, running and stopped", "alter 6 -> 9",
          "noticed, red, nothing of the new partitions is counted before an operator decides"),
    Fault("F18", "poison records", "not JSON, bad UTF-8, null, 1 MB, a missing field, -1, 1.5, 2^63, NUL, deep nesting",
          "0 restarts, each in the quarantine with its reason, its neighbours exact"),
    Fault("F19", "event_time far in the future", "+365 d, +6 min, the year 9999, epoch 0, as first record after a "
          "restart too", "0 good records lost; the watermark is never beyond now + 5 min"),
    Fault("F20", "clock skew", "faketime: producer +-10 min, driver +5 years and -1 h",
          "fates are decided by append_time, not by the driver's clock"),
    Fault("F21", "idle partitions, silence", "1 of 6 partitions active, then nothing for 10 min",
          "numbers are visible within 10 s; the day still closes"),
    Fault("F22", "skewed keys", "90 % on one ad, 99 % in one partition"),
    Fault("F23", "late by 1 h, 24 h, 71 h, 73 h, 40 d", "generator", "the right day; after its end an adjustment"),
    Fault("F24", "disk full: checkpoint, Postgres, broker", "a small file system",
          "red within 30 s, exact once space is free"),
    Fault("F25", "executor or worker killed", "kill -9, 10 times"),
    Fault("F26", "rescale 2 -> 4 -> 3 under load, killed in each phase", "kill -9",
          "the old layout or the new one, never mixed; a live driver means refusal"),
    Fault("F27", "reprocess, killed in each step while events flow", "kill each task once",
          "I6; a replay of the same code equals what is live, row by row"),
    Fault("F28", "rollback after new events arrived", "rollback, promote", "0 lost, 0 counted twice"),
    Fault("F29", "Airflow down for 10 min", "kill -9 of all its processes",
          "counting goes on; no second driver on its return"),
    Fault("F30", "validation fails, or crashes", "one row off by 1 micro; kill -9", "not promoted, 100 %"),
    Fault("F31", "same event_id and time, different cost; across a restart", "generator",
          "the first in its partition counts"),
    Fault("F32", "burst from 500 to 5,000 records/s for 60 s", "generator",
          "memory under its limit, lag 0 within 300 s"),
    Fault("F33", "random mix for 30 min", "seeded", "can be repeated from the printed seed"),
    Fault("F34", "Postgres restored from a backup older than the checkpoints", "base backup, 3 batches, restore",
          "the start is refused and names the repair; after it exact"),
    Fault("F35", "uneven backlog: one partition with 6 h of append times, one with 30 min",
          "a broker with a moved clock, or all times scaled down; small batches", "0 records lost to the watermark"),
    Fault("F36", "zombie stopped inside its transaction", "SIGSTOP between COPY and COMMIT",
          "the successor commits within 60 s"),
    Fault("F37", "broker's clock 6 min slow", "faketime", "the share of `future` turns red; the records are kept"),
)  # fmt: skip
