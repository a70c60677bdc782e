"""The driver's side of the registry: claim a launch, take the fence, beat, and say what is wrong."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial

from psycopg.rows import class_row, dict_row

from jobs import postgres
from jobs.driver import ownership
from jobs.driver.heartbeat import WRITE_BEAT, Beat
from jobs.driver.ownership import Connection, LaunchLost
from jobs.driver.restarts import COUNT_STARTS, Starts
from jobs.driver.watermark import Ends
from kappa.core.installation.settings import Settings
from kappa.core.log.kafka_log import LastRead, Offsets
from kappa.core.versions import SELECT_VERSION, Desired, State, Version

TIMEOUTS = "-c transaction_timeout=30s -c idle_in_transaction_session_timeout=10s -c timezone=UTC"
ALIVE = timedelta(seconds=30)
"""A driver whose claim or heartbeat is younger than this is taken to be alive."""
MOST_APPLICATIONS = 20
TOGETHER = timedelta(minutes=2)
"""Drivers of one request that was sent twice begin within this, as long as a request is repeated."""


def connect(settings: Settings, job: str, version: int, epoch: int | None) -> postgres.Connection:
    """A connection named after the driver's epoch, so that its successor can end it."""
    name = f"kappa:{job}:v{version}:" + ("claim" if epoch is None else f"e{epoch}")
    return postgres.connect(settings, name, TIMEOUTS)


class DriverRegistry:
    """What a driver asks and tells the registry about its one version; each call is a transaction of its own."""

    def __init__(self, settings: Settings, job: str, version: int, epoch: int | None = None) -> None:
        self._key = {"job": job, "version": version}
        self._epoch = epoch
        self._connect = partial(connect, settings, job, version, epoch)
        self._open: Connection | None = None

    @property
    def _connection(self) -> Connection:
        """The connection; made anew after Postgres went away."""
        if self._open is None or self._open.closed:
            self._open = self._connect()
            self._open.autocommit = True
        return self._open

    def close(self) -> None:
        """Close the connection."""
        if self._open is not None:
            self._open.close()

    def describe(self) -> Version:
        """The version's row."""
        return self._describe(self._connection)

    def _describe(self, connection: Connection) -> Version:
        with connection.cursor(row_factory=dict_row) as cursor:
            row = cursor.execute(
                f"{SELECT_VERSION} where job = %(job)s and version = %(version)s", self._key
            ).fetchone()
        assert row is not None, f"the registry has no {self._key}"
        return Version.from_json(row)

    def claim(self, launch_id: str, submission_id: str) -> bool:
        """Make the launch this submission's own; False while another that seems alive holds it, or once it ended."""
        found = self._connection.execute(
            """update registry.launch l set claimed_by = %(submission)s, claimed_at = clock_timestamp(),
                standby = nullif(standby, %(submission)s)
            where launch_id = %(launch)s and ended_at is null and (claimed_by is null or claimed_by = %(submission)s
                or greatest(claimed_at, (select beat_at from registry.heartbeat h where h.job = l.job
                    and h.version = l.version and h.submission_id = l.claimed_by)) < clock_timestamp() - %(alive)s)""",
            {"submission": submission_id, "launch": launch_id, "alive": ALIVE},
        )
        return found.rowcount == 1

    def supersede(self, launch_id: str, submission_id: str, begun: timedelta) -> bool:
        """Make the launch this submission's own although the driver of another one beats; this process has `begun` so
        long ago. True where that one claimed it long before: the cluster lost sight of it, and this one replaces it.
        False where both began together: a request that was sent twice starts a driver too many."""
        found = self._connection.execute(
            """update registry.launch set claimed_by = %(submission)s, claimed_at = clock_timestamp()
            where launch_id = %(launch)s and ended_at is null and claimed_at < clock_timestamp() - %(before)s""",
            {"submission": submission_id, "launch": launch_id, "before": begun + TOGETHER},
        )
        return found.rowcount == 1

    def launch_has_ended(self, launch_id: str) -> bool | None:
        """Whether the launch was ended; None where it was never intended."""
        row = self._connection.execute(
            "select ended_at is not null from registry.launch where launch_id = %s", (launch_id,)
        ).fetchone()
        return None if row is None else bool(row[0])

    def end_launch(self, launch_id: str, submission_id: str) -> None:
        """Say that this launch's driver goes for good; the launch of another submission is left alone."""
        ownership.end_launch(self._connection, launch_id, submission_id)

    def starts(self, submission_id: str, minutes: int) -> Starts:
        """What the earlier starts came to; `recent` are those of the submission within so many minutes."""
        with self._connection.cursor(row_factory=class_row(Starts)) as cursor:
            values = {**self._key, "submission": submission_id, "minutes": minutes}
            found = cursor.execute(COUNT_STARTS, values).fetchone()
        assert found is not None
        return found

    def take_over(self, launch_id: str, submission_id: str, driver_pid: int) -> tuple[Version, int] | None:
        """Own the version: raise the epoch, end the connections of older drivers, note the start. Returns the version
        as it is at that moment, and the epoch; None, and nothing is touched, where it is not to run.

        One transaction, which holds the launch: a process that was paused since it claimed it takes nothing from the
        driver that came after it. Raises LaunchLost.
        """
        connection = self._connection
        with connection.transaction():
            ownership.hold_launch(connection, launch_id, submission_id)
            version = self._describe(connection)
            if not version.is_to_run:
                return None
            epoch = ownership.raise_epoch(connection, self._key, submission_id, driver_pid)
        return version, self._own(epoch)

    def seize(self, name: str, pid: int) -> tuple[Version, int]:
        """As `take_over`, for a finite program that holds the checkpoints of a version not driven. Raises Driven."""
        connection = self._connection
        with connection.transaction():
            ownership.check_undriven(connection, self._key)
            version, epoch = self._describe(connection), ownership.raise_epoch(connection, self._key, name, pid)
        return version, self._own(epoch)

    def _own(self, epoch: int) -> int:
        ownership.end_older(self._connection, self._key, epoch)
        self._epoch = epoch
        return epoch

    def note_application(self, application_id: str) -> list[str]:
        """Note the cluster's name of what this driver runs as; those of the newest drivers before it."""
        values = {**self._key, "epoch": self._epoch, "application": application_id, "most": MOST_APPLICATIONS}
        self._connection.execute(
            "update registry.driver_start set application_id = %(application)s "
            "where job = %(job)s and version = %(version)s and epoch = %(epoch)s",
            values,
        )
        found = self._connection.execute(
            "select application_id from registry.driver_start where job = %(job)s and version = %(version)s "
            "and epoch < %(epoch)s and application_id <> %(application)s order by epoch desc limit %(most)s",
            values,
        ).fetchall()
        return [row[0] for row in found]

    def beat(self, beat: Beat) -> tuple[Desired, State, int]:
        """Write the heartbeat unless a newer epoch has; returns what is desired, the version's state, and the epoch
        that owns it."""
        self._connection.execute(
            WRITE_BEAT,
            {**self._key, **vars(beat)},
        )
        row = self._connection.execute(
            "select v.desired, v.state, f.epoch from registry.job_version v join registry.fence f using (job, version) "
            "where job = %(job)s and version = %(version)s",
            self._key,
        ).fetchone()
        assert row is not None, f"the registry has no {self._key}"
        return Desired(row[0]), State(row[1]), int(row[2])

    def now_ms(self) -> int:
        """The database's clock, which judges what has been drained: a driver's own may be years off."""
        row = self._connection.execute("select (extract(epoch from clock_timestamp()) * 1000)::bigint").fetchone()
        assert row is not None
        return int(row[0])

    def newest_batch(self, generation: int) -> int | None:
        """The newest batch that was written from this generation of the checkpoint.

        Before the first one of a repartitioned generation, the batch that the repartition itself committed.
        """
        row = self._connection.execute(
            "select coalesce((select max(batch_id) from registry.batch where job = %(job)s and version = %(version)s "
            "and generation = %(generation)s), (select base_batch_id from registry.generation where job = %(job)s "
            "and version = %(version)s and generation = %(generation)s))",
            {**self._key, "generation": generation},
        ).fetchone()
        return None if row is None or row[0] is None else int(row[0])

    def progress(self) -> tuple[Offsets, dict[int, int]]:
        """Per partition the committed next offset, and the append_time (epoch ms) up to which it is read."""
        found = self._connection.execute(
            'select "partition", next_offset, greatest(read_append_time, drained_at) from registry.progress '
            "where job = %(job)s and version = %(version)s",
            self._key,
        ).fetchall()
        return {p: n for p, n, _ in found}, {p: _ms(t) for p, _, t in found if t is not None}

    def last_read(self) -> dict[int, LastRead]:
        """The last record that was read, per partition; none of those that were read before it was kept."""
        found = self._connection.execute(
            'select "partition", last_offset, last_append_time from registry.progress '
            "where job = %(job)s and version = %(version)s and last_offset is not null",
            self._key,
        ).fetchall()
        return {p: LastRead(offset, _ms(at)) for p, offset, at in found}

    def note_ends(self, ends: Ends, drained: list[int]) -> None:
        """Keep the ends of the partitions, and that those in `drained` had nothing unread when they were asked for.

        A partition is only marked while its committed offset still reaches its end.
        """
        partitions = sorted(ends.offsets)
        self._connection.execute(
            """update registry.progress p set end_offset = greatest(p.end_offset, e.end_offset),
                drained_at = case when e.partition = any(%(drained)s) and p.next_offset >= e.end_offset
                    then greatest(p.drained_at, to_timestamp(%(at)s / 1000.0)) else p.drained_at end
            from unnest(%(partitions)s::integer[], %(ends)s::bigint[]) as e(partition, end_offset)
            where p.job = %(job)s and p.version = %(version)s and p."partition" = e.partition""",
            {
                **self._key,
                "drained": drained,
                "at": ends.at_ms,
                "partitions": partitions,
                "ends": [ends.offsets[p] for p in partitions],
            },
        )

    def raise_red(self, what: str, detail: str) -> None:
        """Show a red line until it is cleared; its `since` stays that of the first time. A driver says nothing any more
        once it was taken over."""
        ownership.raise_red(self._connection, {**self._key, "epoch": self._epoch}, what, detail)

    def clear_red(self, *what: str) -> None:
        """Take red lines away."""
        ownership.clear_red(self._connection, {**self._key, "epoch": self._epoch}, what)

    def fail(self, launch_id: str, submission_id: str, reason: str) -> None:
        """Give the version up, and end the launch: state FAILED and a red line that says why, in one transaction.

        Only as the owner: the launch is open and this submission's, nobody took the version over. Raises LaunchLost.
        """
        connection = self._connection
        with connection.transaction():
            ownership.hold_launch(connection, launch_id, submission_id)
            if not ownership.give_up(connection, {**self._key, "epoch": self._epoch}, reason):
                raise LaunchLost(launch_id, submission_id)
            ownership.end_launch(connection, launch_id, submission_id)


def _ms(moment: datetime) -> int:
    return round(moment.astimezone(UTC).timestamp() * 1000)
