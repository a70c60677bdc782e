"""Airflow: its configuration, its database and the four processes."""

from __future__ import annotations

import configparser
import io
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from urllib.parse import quote, urlencode

from kappa import airflow_api, airflow_sign_in
from kappa.core.installation import layers
from kappa.core.installation.addresses import LOOPBACK
from kappa.core.installation.settings import Settings
from kappa.core.spark_environment import search_path
from stack.layout import Layout, package_folder
from stack.programs import NotHealthy, Program
from stack.services import airflow_connections, airflow_imports, passwords
from stack.services.passwords import AIRFLOW_ROLE, AIRFLOW_USERS

API = "airflow-api"
SCHEDULER = "airflow-scheduler"
DAG_PROCESSOR = "airflow-dag-processor"
TRIGGERER = "airflow-triggerer"
# The api-server reads the logs of tasks and triggers from the same disk; the log servers of the scheduler and
# the triggerer would listen on every address.
COMMANDS = {
    API: ("api-server",),
    SCHEDULER: ("scheduler", "--skip-serve-logs"),
    DAG_PROCESSOR: ("dag-processor",),
    TRIGGERER: ("triggerer", "--skip-serve-logs"),
}
ASYNC = "postgresql+asyncpg"
# Where all of Airflow starts again on busy cores the scheduler is there minutes before the api-server, and a task that
# cannot tell it of its start has used up a try: by Airflow's own numbers all of them within a minute. A heartbeat tries
# as often, so one that failed is enough: the process must be gone when the scheduler misses it and begins another.
_WORKERS = {
    "execution_api_retries": "11",
    "execution_api_retry_wait_min": "3",
    "execution_api_retry_wait_max": "5",
    "max_failed_heartbeats": "1",
}


Sections = dict[str, dict[str, str]]


def configuration(layout: Layout) -> str:
    """airflow.cfg of the embedded stack."""
    return as_file(sections(layout, passwords.airflow_keys(layout.settings)))


def sections(layout: Layout, keys: Mapping[str, str]) -> Sections:
    """Every setting that differs from Airflow's own, by section; all on loopback."""
    settings = layout.settings
    return {
        "core": _core(layout, keys["fernet_key"]),
        "database": {
            "sql_alchemy_conn": _url(settings, "postgresql+psycopg2"),
            "sql_alchemy_conn_async": _url(settings, ASYNC),
        },
        "api": {
            "host": LOOPBACK,
            "port": str(settings.ports.airflow),
            "base_url": settings.airflow_url,
            "workers": "1",
            "secret_key": keys["secret_key"],
        },
        "api_auth": {"jwt_secret": keys["jwt_secret"]},
        # A task that died, or that a dead scheduler had queued, holds its stream for as long as nobody notices; by
        # default that is five minutes.
        "scheduler": {"task_instance_heartbeat_timeout": "60", "orphaned_tasks_check_interval": "15"},
        "workers": _WORKERS,
        # A file that was changed is read again at once. Reading the others each half minute, as by default, takes a
        # tenth of a processor for ever; never would leave out for ever what could not be read in time once, and a DAG
        # that was not read for ten minutes is taken for gone.
        "dag_processor": {"refresh_interval": "30", "min_file_process_interval": "300"},
        "secrets": airflow_connections.section(airflow_connections.file(layout)),
        "logging": {"base_log_folder": str(layout.airflow / "logs")},
        "usage_data_collection": {"enabled": "False"},
    }


def as_file(sections: Sections) -> str:
    """The text of airflow.cfg."""
    config = configparser.RawConfigParser()
    config.read_dict({name: {k: v.replace("%", "%%") for k, v in values.items()} for name, values in sections.items()})
    text = io.StringIO()
    config.write(text)
    return text.getvalue()


def programs(layout: Layout) -> list[Program]:
    """The four processes; a stop signals the whole group, so that no executor's worker stays behind."""
    return [
        Program(
            name,
            (layout.python, "-m", "airflow", *arguments),
            layout.airflow,
            environment(layout),
            ("airflow",) if name == API else (),
            patience=20,
            uses_store=True,
        )
        for name, arguments in COMMANDS.items()
    ]


def environment(layout: Layout) -> dict[str, str]:
    """What Airflow's processes need beside the stack's surroundings; no secret is in it.

    The Spark provider takes a program by name only, from the PATH; the one in the environment's `bin` would look for
    SPARK_HOME with whichever Python it meets first.
    """
    spark = package_folder("pyspark")
    return {
        "PATH": f"{spark / 'bin'}:{layout.surroundings['PATH']}",
        "SPARK_HOME": str(spark),
        "AIRFLOW_HOME": str(layout.airflow),
        "PYTHONPATH": search_path(layout.checkout),
        "PYTHONUNBUFFERED": "1",
        # DAG files read no settings file.
        f"{layers.PREFIX}RELEASES__PROVE_CRON": layout.settings.releases.prove_cron,
        f"{layers.PREFIX}RELEASES__VALIDATE_CRON": layout.settings.releases.validate_cron,
        # Airflow names its processes; without this the name would overwrite the mark in their environment.
        "SPT_NOENV": "1",
    }


def prepare(layout: Layout) -> None:
    """Write the configuration and the connections, readable by their owner only."""
    layout.airflow.mkdir(exist_ok=True)
    airflow_connections.write(layout)
    airflow_imports.write(layout)
    passwords.write_private(layout.airflow / "airflow.cfg", configuration(layout))


def migrate(layout: Layout) -> None:
    """Bring Airflow's database to the installed version, unless it was. Raises NotHealthy."""
    stamp, installed = layout.airflow / "migrated", version("apache-airflow-core")
    if stamp.exists() and stamp.read_text() == installed:
        return
    log = layout.logs / "airflow-migrate.log"
    with log.open("w") as out:
        command = [layout.python, "-m", "airflow", "db", "migrate"]
        surroundings = {**layout.surroundings, **environment(layout)}
        done = subprocess.run(command, env=surroundings, cwd=layout.airflow, stdout=out, stderr=out)
    if done.returncode:
        raise NotHealthy("airflow db migrate", f"ended with exit code {done.returncode}", log)
    stamp.write_text(installed)


def healthy(settings: Settings, started: dict[str, datetime]) -> bool:
    """Every heartbeat is newer than the start of its process, so not one of the last run."""
    health = airflow_api.health(settings)
    if health is None:
        return False
    beats = {SCHEDULER: "scheduler", DAG_PROCESSOR: "dag_processor", TRIGGERER: "triggerer"}
    return health["metadatabase"]["status"] == "healthy" and all(
        _newer(health[part].get(f"latest_{part}_heartbeat"), started[name]) for name, part in beats.items()
    )


def _newer(heartbeat: str | None, started: datetime) -> bool:
    return heartbeat is not None and datetime.fromisoformat(heartbeat).astimezone(UTC) >= started


def _core(layout: Layout, fernet_key: str) -> dict[str, str]:
    return {
        "executor": "LocalExecutor",
        "parallelism": "4",
        "dags_folder": str(layout.checkout / "dags"),
        "plugins_folder": str(layout.checkout / "plugins"),
        "load_examples": "False",
        "dags_are_paused_at_creation": "False",
        "default_timezone": "utc",
        "fernet_key": fernet_key,
        "execution_api_server_url": f"{layout.settings.airflow_url}/execution/",
        "simple_auth_manager_users": ",".join(f"{name}:{role}" for name, role in AIRFLOW_USERS.items()),
        "simple_auth_manager_passwords_file": str(airflow_sign_in.users_file(layout.settings)),
    }


def _url(settings: Settings, driver: str) -> str:
    """SQLAlchemy URL that names the password file; both drivers read it. Each has words of its own for TLS: asyncpg
    takes the authority's file from PGSSLROOTCERT."""
    server = settings.database_server
    encrypted = {"sslmode": server.sslmode, "sslrootcert": server.sslrootcert} if server.sslrootcert else {}
    if driver == ASYNC:
        encrypted = {"ssl": server.sslmode} if server.sslrootcert else {}
    given = urlencode({"passfile": str(_passfile(settings)), **encrypted}, quote_via=quote, safe="/")
    return f"{driver}://{AIRFLOW_ROLE}@{server.host}:{server.port}/{AIRFLOW_ROLE}?{given}"


def _passfile(settings: Settings) -> Path:
    return settings.passfile(AIRFLOW_ROLE)
