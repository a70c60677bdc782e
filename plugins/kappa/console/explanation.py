"""What one served number is made of, as far as the registry knows it; its records, and their batches, the log tells."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from typing import Any

from kappa.console.database import Database
from kappa.console.numbers import NoSuchChoice
from kappa.console.text import plain
from kappa.core.job_catalog import ID

LATEST = 253402300799
"""The last second of the contract's times."""
_ROW = """
select client_id, ad_id, window_start, impressions, clicks, spend_micros, ctr, duplicates, repeated_clicks, is_final
from serving.ad_ctr_minute where client_id = %(client)s and ad_id = %(ad)s and window_start = %(at)s"""
_VERSION = """
select v.job, v.version, v.state, v.artifact, v.result_digest, v.state_digest, v.settings, v.starts_at, v.created_at,
    v.topic, v.generation, s.from_window::text, s.to_window::text
from ops.segments s join ops.versions v using (job, version)
where s.job = 'ad_ctr' and s.from_window <= %(at)s and %(at)s < s.to_window"""
# The newest release that made the version serve this minute, and did not only let it go on.
_RELEASE = """
select release_id, jobs, promoted_at, promoted_by, approved_by, evidence from ops.releases r
where exists (select from jsonb_array_elements(r.segments_after) s
        where s ->> 'job' = 'ad_ctr' and (s ->> 'version')::integer = %(version)s
        and (s ->> 'from_window')::timestamptz <= %(at)s and %(at)s < (s ->> 'to_window')::timestamptz)
    and not exists (select from jsonb_array_elements(r.segments_before) s
        where s ->> 'job' = 'ad_ctr' and (s ->> 'version')::integer = %(version)s
        and (s ->> 'from_window')::timestamptz <= %(at)s and %(at)s < (s ->> 'to_window')::timestamptz)
order by release_id desc limit 1"""


def read(database: Database, client: str, ad: str, minute: int) -> dict[str, Any]:
    """{"served", "version", "release", "command"} of one ad's minute; None where there is none. Which batches read its
    records only their offsets tell, which are in the log: a replay read them long after the minute, and a late record
    is in a later batch. `command` tells both. Raises NoSuchChoice, NotReadable, TooSlow."""
    for name, value in (("client", client), ("ad", ad)):
        if not ID.fullmatch(value):
            raise NoSuchChoice(name, value, "a name is 1 to 64 of A-Z a-z 0-9 _ . : -")
    if not 0 <= minute <= LATEST or minute % 60:
        raise NoSuchChoice("minute", minute, "it is the second, since 1970, at which a minute begins")
    at = datetime.fromtimestamp(minute, UTC)
    with database.reading() as connection:
        served = connection.execute(_ROW, {"client": client, "ad": ad, "at": at}).fetchone()
        version = connection.execute(_VERSION, {"at": at}).fetchone()
        of_version = {"at": at, "version": version["version"] if version else 0}
        release = connection.execute(_RELEASE, of_version).fetchone()
    found = {"served": served, "version": version, "release": release}
    return {**plain(found), "command": command(client, ad, at)}


def command(client: str, ad: str, at: datetime) -> str:
    """What tells each record of the number, with its fate, and the batches that read them."""
    return shlex.join(
        ["./kappa", "explain", "ad_ctr", "--client", client, "--ad", ad, "--minute", f"{at:%Y-%m-%dT%H:%MZ}"]
    )
