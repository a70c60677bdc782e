"""The person that commands act as: who signed in by `./kappa login`, else the default person of the embedded stack.

Who signed in lies in a file of mode 0600 beside the stack's secrets: {"user", "url", "token", "expires"}.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from kappa.airflow_api import Airflow
from kappa.airflow_sign_in import Login, NoPassword, NotSignedIn, SignedIn, embedded, password_of
from kappa.core.installation.settings import Settings
from stack.services.passwords import PERSON, write_private


def file(settings: Settings) -> Path:
    """Where it is kept who signed in."""
    return settings.secrets / "airflow-login.json"


def keep(settings: Settings, login: Login) -> None:
    """Remember who signed in, readable by the owner of the file only."""
    settings.secrets.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_private(file(settings), json.dumps(login.to_json()))


def kept(settings: Settings) -> Login | None:
    """Who signed in, if anybody did; what cannot be read is nobody."""
    try:
        return Login.from_json(json.loads(file(settings).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def forget(settings: Settings) -> Login | None:
    """Sign out here: who was signed in, if anybody was."""
    login = kept(settings)
    file(settings).unlink(missing_ok=True)
    return login


def session(settings: Settings, user: str | None = None) -> Airflow:
    """A session of the person, or of another user of the embedded stack. Raises NotSignedIn, NoPassword."""
    return Airflow(person(settings, datetime.now(UTC)) if user is None else embedded(settings, user))


def person(settings: Settings, now: datetime) -> SignedIn:
    """Who acts. A user of the embedded stack needs no token: the stack has the password. Raises NotSignedIn."""
    login = kept(settings)
    user = login.user if login else PERSON
    try:
        password = password_of(settings, user)
    except NoPassword:
        password = None
    why = wrong(login, settings.airflow_url, now)
    if why is not None and password is None:
        raise NotSignedIn(settings.airflow_url, why)
    token = login.token if login and why is None else None
    return SignedIn(settings.airflow_url, user, password, token, settings.airflow.ca)


def wrong(login: Login | None, url: str, now: datetime) -> str | None:
    """Why this is no way into the Airflow at that address; None where it is one. A token goes to its own Airflow only:
    any other could use it there."""
    if login is None:
        return "nobody is signed in"
    if login.url != url:
        return f"'{login.user}' is signed in to the Airflow at {login.url}"
    if login.expires <= now:
        return f"'{login.user}' was signed in until {login.expires:%Y-%m-%d %H:%M} UTC"
    return None
