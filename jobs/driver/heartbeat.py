"""A driver's heartbeat and how it is written: a beat of an older epoch never covers that of a newer one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Beat:
    """One heartbeat: who is alive, what it committed last, how large its state is. Times are epoch ms; `committed_ms`
    is the database's."""

    epoch: int
    driver_pid: int
    jvm_pid: int | None
    submission_id: str
    generation: int
    batch_id: int | None = None
    batch_ms: int | None = None
    committed_ms: int | None = None
    newest_event_ms: int | None = None
    watermark_ms: int | None = None
    watermark_delay_ms: int | None = None
    state_rows: int | None = None
    state_bytes: int | None = None


WRITE_BEAT = """insert into registry.heartbeat as h (job, version, epoch, beat_at, driver_pid, jvm_pid, submission_id,
    generation, batch_id, batch_ms, committed_at, newest_event_time, watermark, watermark_delay_ms,
    state_rows, state_bytes)
values (%(job)s, %(version)s, %(epoch)s, clock_timestamp(), %(driver_pid)s, %(jvm_pid)s, %(submission_id)s,
    %(generation)s, %(batch_id)s, %(batch_ms)s, to_timestamp(%(committed_ms)s / 1000.0),
    to_timestamp(%(newest_event_ms)s / 1000.0), to_timestamp(%(watermark_ms)s / 1000.0),
    %(watermark_delay_ms)s, %(state_rows)s, %(state_bytes)s)
on conflict (job, version) do update set epoch = excluded.epoch, beat_at = excluded.beat_at,
    driver_pid = excluded.driver_pid, jvm_pid = excluded.jvm_pid, submission_id = excluded.submission_id,
    generation = excluded.generation, batch_id = coalesce(excluded.batch_id, h.batch_id),
    batch_ms = coalesce(excluded.batch_ms, h.batch_ms),
    committed_at = coalesce(excluded.committed_at, h.committed_at),
    newest_event_time = greatest(excluded.newest_event_time, h.newest_event_time),
    watermark = coalesce(excluded.watermark, h.watermark),
    watermark_delay_ms = coalesce(excluded.watermark_delay_ms, h.watermark_delay_ms),
    state_rows = coalesce(excluded.state_rows, h.state_rows),
    state_bytes = coalesce(excluded.state_bytes, h.state_bytes)
where h.epoch <= excluded.epoch"""
