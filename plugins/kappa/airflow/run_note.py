"""The note of a run: what was done, in a sentence, on the run's page. Airflow takes it over its REST API only."""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import urlsplit

import httpx
from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowNotFoundException

from kappa.airflow_api import Airflow, Run
from kappa.airflow_sign_in import SignedIn
from kappa.core.installation.addresses import PlainAddress, is_loopback
from kappa.core.installation.needs import NOTES_CONNECTION
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal

CONNECTION = NOTES_CONNECTION
"""Airflow's connection to its own api-server, as a user who may edit runs. With a login the password gets tokens;
without one it is a token itself."""
PATIENCE = httpx.Timeout(5.0)

log = logging.getLogger(__name__)


class NoConnection(Refusal):
    """Airflow has no connection by which a task could set a note."""

    def __init__(self) -> None:
        super().__init__(f"Airflow has no connection '{CONNECTION}', by which notes are left; the audit has it all")


def leave(settings: Settings, run: Run, text: str, transport: httpx.BaseTransport | None = None) -> bool:
    """Set the run's note; whether that worked. The audit is the record: a note that could not be left fails nothing."""
    try:
        connected(settings, transport).note(run, text)
    except Refusal as problem:
        log.warning("no note was left on the run: %s", problem)
        return False
    return True


def connected(settings: Settings, transport: httpx.BaseTransport | None = None) -> Airflow:
    """Airflow as a task may ask it. Raises NoConnection, PlainAddress."""
    return Airflow(signed_in(_connection(), settings), transport, PATIENCE)


def signed_in(connection: Any, settings: Settings) -> SignedIn:
    """The user and the api-server that a connection names. Raises PlainAddress."""
    host = connection.host or ""
    scheme = connection.schema or ("https" if connection.conn_type == "https" else "http")
    url = host if "://" in host else f"{scheme}://{host}"
    if connection.port:
        url = f"{url}:{connection.port}"
    parts = urlsplit(url)
    if parts.scheme != "https" and not (settings.airflow.allow_plain or is_loopback(parts.hostname or "")):
        raise PlainAddress("airflow.url", url, f"Give connection {CONNECTION} an https:// host")
    if connection.login:
        return SignedIn(url, connection.login, password=connection.password, ca=settings.airflow.ca)
    return SignedIn(url, CONNECTION, token=connection.password, ca=settings.airflow.ca)


def _connection() -> Any:
    """Raises NoConnection."""
    try:
        return Connection.get(CONNECTION)
    except AirflowNotFoundException as error:
        raise NoConnection from error
