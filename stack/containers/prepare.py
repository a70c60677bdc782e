"""The init jobs of docker-compose.yml: `python -m stack.containers.prepare secrets | stores`."""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

from kafka.errors import KafkaError

from kappa.core.installation import layers
from kappa.core.installation.findings import Finding
from kappa.core.installation.settings import Settings, load
from kappa.core.refusals import Refusal
from kappa.core.store import check
from kappa.core.store.location import Location
from kappa.core.store.s3 import Bucket
from stack import schema
from stack.alerts import targets
from stack.alerts.memory import MemoryFile
from stack.containers import bucket, given, installation, names
from stack.containers.names import Chosen, chosen
from stack.services import certificates, jars, kafka, passwords, postgres, spark_jar
from stack.services.passwords import write_private
from stack.waiting import until

HOST = Path("/host")
"""The folder of the target in the checkout: its installation file, all secrets, the shared folder."""
VOLUMES = Path("/given")
"""Where the volumes of all groups are mounted while they are filled."""
PATIENCE_SECONDS = 180.0


class NotOurs(Refusal):
    """The folder in the checkout belongs to another user than the containers run as."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"user {os.getuid()}, as whom the containers run, may not write in targets/compose ({folder} here). "
            "Nothing was made. Set KAPPA_UID in .env to what 'id -u' prints and run 'docker compose build'; root, as "
            f"whom no container runs, gives that folder away: chown -R {os.getuid()} targets/compose."
        )


def make_secrets(host: Path, volumes: Path, choice: Chosen) -> None:
    """The installation file, anew; passwords and certificates in the checkout, each unless it is there; and what each
    group is given of them. Raises NotOurs, NoCertificate; NoAddress, PlainTarget where nobody could be told."""
    for folder in (host, host / "secrets", host / "shared", host / "state" / "alerts"):
        if not os.access(folder, os.W_OK | os.X_OK):
            raise NotOurs(folder)
    (host / given.SETTINGS).write_text(installation.text(installation.outside(choice), choice))
    settings = load(host / "state", {})
    targets.read(settings)
    # Else a command of root's on this machine could make it, whose file the monitor may not open.
    MemoryFile(settings.home).lock.touch()
    passwords.make(settings)
    if choice.s3:
        bucket.ensure_keys(settings.secrets)
    ours = ("localhost", "127.0.0.1")
    certificates.ensure(settings.secrets, "kafka", [*names.BROKERS, *ours])
    certificates.ensure(settings.secrets, "postgres", [names.POSTGRES, *ours])
    cluster = settings.secrets / given.CLUSTER_ID
    if not cluster.exists():
        write_private(cluster, kafka.cluster_id())
    for group, files in given.files(settings, inside(choice), choice).items():
        hand_out(volumes / group, files)


def inside(choice: Chosen) -> Settings:
    """The settings of the containers."""
    told = tomllib.loads(installation.text(installation.inside(choice), choice))
    return layers.build("the installation file", Settings, told, Settings(names.STATE))


def hand_out(volume: Path, files: Mapping[str, str]) -> None:
    """Put these files into a group's volume, and nothing else."""
    for left in volume.iterdir():
        if left.name not in files:
            left.unlink()
    for name, text in files.items():
        write_private(volume / name, text)


def make_stores(settings: Settings, copies: int) -> None:
    """Roles, databases, schema, topic and users, each unless it is there, and the jars of Spark applications."""
    _await("Postgres", lambda: postgres.healthy(settings))
    postgres.ensure_roles(settings)
    schema.migrate(settings)
    _await("Kafka", lambda: _topic(settings, copies))
    put_jars(settings)
    if isinstance(settings.store.store, Bucket):
        await_bucket(settings)


def put_jars(settings: Settings) -> None:
    """Put what Spark applications need where they find it, and leave no other jar; of S3 only where checkpoints lie in
    a bucket."""
    folders = [names.JARS, *([names.S3_JARS] if isinstance(settings.store.store, Bucket) else [])]
    for folder in folders:
        shutil.copytree(folder, settings.jars, dirs_exist_ok=True)
    spark_jar.put(settings.jars)
    jars.keep_only(settings.jars, {jar.name for folder in folders for jar in folder.glob("*.jar")})


def await_bucket(settings: Settings) -> None:
    """Wait for it, and try it, since drivers could only wait for it."""
    _await("the S3 server of the profile s3", lambda: not _wrong(settings.store))


def _topic(settings: Settings, copies: int) -> bool:
    try:
        kafka.ensure_topic(settings, copies)
    except KafkaError as error:
        print(f"Kafka is not ready: {error}", file=sys.stderr)
        return False
    return True


def _wrong(store: Location) -> list[Finding]:
    """What is wrong with the store, which is printed."""
    findings = check.check(store)
    for found in findings:
        print(f"{found.part}: {found.wrong}", file=sys.stderr)
    return findings


def _await(part: str, ready: Callable[[], bool]) -> None:
    if not until(ready, PATIENCE_SECONDS, 1.0):
        raise Refusal(f"{part} did not answer within {PATIENCE_SECONDS:.0f} s: see docker compose logs.")


def main(word: str) -> int:
    """Run one of the jobs; a refusal is one line."""
    try:
        choice = chosen(os.environ)
        if word == "secrets":
            make_secrets(HOST, VOLUMES, choice)
        else:
            make_stores(load(names.STATE), choice.brokers)
    except Refusal as refusal:
        print(f"error: {refusal}", file=sys.stderr)
        return 1
    print(f"{word}: done")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
