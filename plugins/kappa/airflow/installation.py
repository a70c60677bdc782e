"""What a process of Airflow knows and sees of its installation: its settings, also by Airflow's connections; pools and
connections, roles of the registry, the shared folder or the store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import psycopg
from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowNotFoundException

from kappa.airflow import run_note
from kappa.airflow_api import Run
from kappa.core.environment import OWN_CODE
from kappa.core.installation import connections
from kappa.core.installation.needs import CONNECTIONS, NOTES_CONNECTION, ROLES, Held, Seen
from kappa.core.installation.settings import Settings, from_environment
from kappa.core.refusals import Refusal
from kappa.core.store.check import check

CONNECT_SECONDS = 5


class InstallationLacks(Refusal):
    """Something is missing without which our DAGs do not run."""

    def __init__(self, findings: list[dict[str, Any]]) -> None:
        told = " ".join(f"{one['part']}: {one['wrong']}. Do: {one['remedy']}." for one in findings)
        super().__init__(f"{len(findings)} things are wrong with the installation. {told}")


def own_settings() -> Settings:
    """The settings, in a task or in the api-server. Raises as `load`, NoConnections."""
    if not connections.are_read():
        return from_environment(OWN_CODE)
    found = {name: _connection(name) for name in connections.NAMES}
    return from_environment(OWN_CODE, connections=connections.tables(found))


async def settings_of_trigger() -> Settings:
    """The same in a trigger, whose event loop may not wait for a connection. Raises as `load`, NoConnections."""
    if not connections.are_read():
        return from_environment(OWN_CODE)
    found = {name: await _connection_of_trigger(name) for name in connections.NAMES}
    return from_environment(OWN_CODE, connections=connections.tables(found))


def look(settings: Settings, run: Run) -> Seen:
    """All that this task can see. Changes nothing but the run's note; a store is tried with files of its own."""
    pools, hidden, notes = _by_rest(settings, run)
    return Seen(
        pools=pools,
        pools_hidden=hidden,
        connections=frozenset(name for name in CONNECTIONS if _has(name)),
        notes=notes,
        roles={role: role_problem(settings, role) for role in ROLES},
        folders={str(settings.shared): folder_problem(settings.shared)} if settings.needs_shared else {},
        store=() if settings.needs_shared else check(settings.store),
    )


def role_problem(settings: Settings, role: str) -> str:
    """Why this role is not let in; empty where it is."""
    try:
        psycopg.connect(settings.dsn(role), connect_timeout=CONNECT_SECONDS).close()
    except psycopg.OperationalError as error:
        return " ".join(str(error).split())
    return ""


def folder_problem(folder: Path) -> str:
    """Why files cannot be kept in this folder; empty where they can."""
    if not folder.is_dir():
        return "there is no such folder on this worker"
    return "" if os.access(folder, os.R_OK | os.W_OK | os.X_OK) else "Airflow's user may not write there"


def _by_rest(settings: Settings, run: Run) -> tuple[dict[str, Held] | None, str, str | None]:
    """The pools, or why they are hidden; and what went wrong with a note, None without the connection for it."""
    try:
        airflow = run_note.connected(settings)
    except run_note.NoConnection:
        return None, f"there is no connection {NOTES_CONNECTION}; ./kappa doctor looks as who has signed in", None
    except Refusal as problem:
        return None, str(problem), str(problem)
    try:
        airflow.note(run, "the installation is being looked at")
        return airflow.pools(), "", ""
    except Refusal as problem:
        return None, str(problem), str(problem)


def _has(connection: str) -> bool:
    return _connection(connection) is not None


def _connection(name: str) -> Any:
    """A connection of Airflow; None where there is none of that name."""
    try:
        return Connection.get(name)
    except AirflowNotFoundException:
        return None


async def _connection_of_trigger(name: str) -> Any:
    try:
        return await Connection.async_get(name)
    except AirflowNotFoundException:
        return None
