"""The longer SQL statements of the registry."""

from __future__ import annotations

INSERT_VERSION = """
insert into registry.job_version (job, version, state, desired, artifact, state_digest, result_digest,
    settings, topic, topic_id, starts_at, start_offsets)
values (%(job)s, %(version)s, %(state)s, %(desired)s, %(artifact)s, %(state_digest)s, %(result_digest)s,
    %(settings)s, %(topic)s, %(topic_id)s, %(starts_at)s, %(start_offsets)s)
on conflict do nothing"""
INSERT_PROGRESS = """
insert into registry.progress (job, version, "partition", next_offset)
values (%(job)s, %(version)s, %(partition)s, %(offset)s)"""
INSERT_SEGMENT = """
insert into registry.segment
values (%(job)s, %(from_window)s::timestamptz, %(to_window)s::timestamptz, %(version)s)"""
INSERT_RELEASE = """
insert into registry.release (jobs, segments_before, segments_after, offsets_before, offsets_after,
    promoted_by, evidence)
select array[%(job)s], '[]', %(after)s, '{}',
    jsonb_build_object(%(job)s::text, jsonb_object_agg("partition", next_offset)), %(actor)s, %(evidence)s
from registry.progress where job = %(job)s and version = %(version)s"""
INSERT_AUDIT = """
insert into registry.audit (actor, action, job, version, run_id, reason, evidence)
values (%s, %s, %s, %s, %s, %s, %s)"""
SET_STATE = """
update registry.job_version set state = %(new)s, updated_at = clock_timestamp()
where job = %(job)s and version = %(version)s and state = any(%(old)s)"""
