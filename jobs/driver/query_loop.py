"""A stream job's driver: starts the version's query, keeps it going, stops it when asked to, gives up when it must."""

from __future__ import annotations

import logging
import time

from kafka.errors import KafkaError
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from jobs import metrics, query, session
from jobs.driver import applications, log_identity, root_cause
from jobs.driver.execution import Execution
from jobs.driver.failures import Failures
from jobs.driver.ownership import Identity
from jobs.driver.registry import DriverRegistry
from jobs.postgres import TRANSIENT
from jobs.sinks.ledger import Fenced
from kappa.core.checkpoint.reader import checkpoint_of
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings
from kappa.core.store.location import StoreAway
from kappa.core.versions import Version

logger = logging.getLogger("kappa.driver")
LONGEST_PAUSE_SECONDS = 30
STORE_POLL_SECONDS = 2


class Driver:
    """Runs one version until it is asked to stop. Raises Refusal where going on would be wrong."""

    def __init__(self, settings: Settings, version: Version, registry: DriverRegistry, identity: Identity) -> None:
        self._settings, self._version, self._registry, self._identity = settings, version, registry, identity
        self._witness = query.witness_of(settings, version)
        self._failures = Failures(version, registry, checkpoint_of(settings, version), self._witness)
        self._execution = Execution(settings, version, registry, identity, self._witness, self._failures)
        self._watcher = self._execution.watcher

    def run(self) -> None:
        """Start the query, again and again where it ends for reasons that pass, until the registry asks to stop.

        Raises Fenced where a newer driver owns the version, also if there is nothing to write that would be refused.
        """
        with metrics.served(self._settings.metrics, self._execution.metrics):
            self._run()

    def _run(self) -> None:
        self._watcher.start()
        try:
            log_identity.check_once_there(
                self._settings.kafka_access(KafkaUser.STREAM), self._version, self._execution.goes_on, time.sleep
            )
            self._check_checkpoint()
            name = f"kappa-{self._version.job}-v{self._version.version}"
            spark = session.create(name, self._version.settings, store=self._settings.store)
            applications.end_superseded(spark, self._registry)
            self._run_while_wanted(spark)
            if self._watcher.heartbeats.taken_over:
                raise Fenced(query.owner_of(self._version, self._identity.epoch))
        finally:
            self._watcher.stop()
            self._witness.close()

    def _check_checkpoint(self) -> None:
        """Refuse a checkpoint that is not where the database is, once its store answers."""
        while self._execution.goes_on():
            try:
                self._failures.check_checkpoint()
                return
            except StoreAway as away:
                self._failures.why = str(away)
                self._failures.show(1)
                time.sleep(STORE_POLL_SECONDS)

    def _run_while_wanted(self, spark: SparkSession) -> None:
        in_a_row = 0
        while self._execution.goes_on():
            self._watcher.heartbeats.await_heard()
            self._attempt(spark)
            in_a_row = in_a_row + 1 if self._execution.committed.batch_id is None else 0
            if self._failures.why:
                self._failures.show(max(1, in_a_row))
            if self._watcher.is_wanted:
                time.sleep(min(2.0**in_a_row, LONGEST_PAUSE_SECONDS))

    def _attempt(self, spark: SparkSession) -> None:
        """Queries until one ends; what ends it and passes is kept as the failures' `why`."""
        self._failures.why = ""
        try:
            self._run_queries(spark)
        except (KafkaError, OSError, *TRANSIENT) as error:
            self._failures.why = root_cause.of(error)
            logger.warning("the query could not be started: %s", self._failures.why)

    def _run_queries(self, spark: SparkSession) -> None:
        """Raises what does not pass, and what may be raised where a query cannot be started."""
        try:
            self._execution.run(spark)
        except StreamingQueryException as error:
            self._failures.judge(error, self._execution.failure)
