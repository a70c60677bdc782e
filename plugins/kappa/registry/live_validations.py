"""What serves, as far as a validation of it asks, and what each version's newest validation found."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from kappa.core.audit import Author, Entry
from kappa.core.validation import Span
from kappa.registry.transactions import Database, audit

# What is final of the live end. Earlier segments were live when their windows became final, and were looked at then.
_SERVING = """
with live as (
    select s.job, s.version, v.starts_at, c.complete_through,
        greatest(s.from_window, least(c.complete_through - make_interval(hours => %(hours)s),
            case when not l.success then l.first_window end)) as since
    from registry.segment s join registry.job_version v using (job, version)
    join registry.completeness c using (job, version) left join registry.live_validation l using (job, version)
    where s.to_window = 'infinity' and c.complete_through is not null
)
select * from live where since < complete_through order by job"""
_NOTE = """
insert into registry.live_validation as held
    (job, version, success, sentence, folder, run_id, first_window, failed_since)
values (%(job)s, %(version)s, %(success)s, %(sentence)s, %(folder)s, %(run_id)s, %(first_window)s,
    case when not %(success)s then clock_timestamp() end)
on conflict (job, version) do update set success = excluded.success, sentence = excluded.sentence,
    folder = excluded.folder, run_id = excluded.run_id, first_window = excluded.first_window,
    validated_at = excluded.validated_at,
    failed_since = case when not excluded.success then coalesce(held.failed_since, excluded.failed_since) end"""
_PASSED = "select success from registry.live_validation where job = %s and version = %s"


@dataclass(frozen=True)
class Serving:
    """A version at the live end, where it starts (None: with the log), and its windows that are to be looked at."""

    job: str
    version: int
    starts_at: datetime | None
    windows: Span

    @property
    def name(self) -> str:
        """As people write it."""
        return f"{self.job} v{self.version}"


@dataclass(frozen=True)
class Found:
    """What a validation found of a version, in a sentence, and the folder of its report below the shared one."""

    success: bool
    sentence: str
    folder: str | None


@dataclass(frozen=True)
class LiveValidations:
    """What is live and how it did, in Postgres."""

    database: Database

    def serving(self, hours: int) -> list[Serving]:
        """What serves the live end: of each version the windows that became final in the last hours, and all since the
        first one that was looked at when it did not pass, for as long as it does not. None of a version of which
        nothing is final."""
        with self.database.transaction() as connection:
            rows = connection.execute(_SERVING, {"hours": hours}).fetchall()
        return [
            Serving(row["job"], row["version"], row["starts_at"], Span(row["since"], row["complete_through"]))
            for row in rows
        ]

    def note(self, of: Serving, found: Found, action: str, by: Author) -> None:
        """Keep what was found as the version's newest validation; in the audit, too, unless it passed as before."""
        told = {"success": found.success, "sentence": found.sentence, "folder": found.folder}
        with self.database.transaction() as connection:
            before = connection.execute(_PASSED, [of.job, of.version]).fetchone()
            row = {"job": of.job, "version": of.version, "run_id": by.run_id, "first_window": of.windows.since}
            connection.execute(_NOTE, row | told)
            if not (found.success and before and before["success"]):
                audit(connection, Entry(by, action, of.job, of.version, told))
