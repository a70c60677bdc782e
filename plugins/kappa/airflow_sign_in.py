"""Who speaks to Airflow's REST API: a token that its auth manager gave, and a password that gets the next one."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Generator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx

from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.core.serialization import Serializable
from kappa.unavailable import Unreachable

UNSAID = timedelta(hours=1)
"""How long a token is kept that does not say when it ends."""


class NoPassword(Refusal):
    """The embedded stack has no password for a user of its Airflow."""

    def __init__(self, file: str, user: str) -> None:
        super().__init__(
            f"{file} does not hold the password of Airflow's user '{user}'. Run ./kappa up, which writes it."
        )


class UnreadableAuthority(Refusal):
    """The file of the authority by which Airflow is known cannot be read."""

    def __init__(self, file: str, error: OSError) -> None:
        super().__init__(
            f"airflow.ca is '{file}', which has no certificate that can be read: {error}. Airflow was not asked. Name "
            "the PEM file of the authority that issued its certificate."
        )


class NotSignedIn(Refusal):
    """Airflow is not told who asks, or no longer believes it."""

    def __init__(self, url: str, why: str) -> None:
        super().__init__(
            f"Airflow at {url} takes no request from here: {why}. A run that was started goes on. Sign in: "
            "./kappa login --user NAME. On the embedded stack nobody has to. Run ./kappa up."
        )


class SignInRefused(Refusal):
    """Airflow gives this user no token."""

    def __init__(self, url: str, user: str, status: int, detail: object) -> None:
        super().__init__(
            f"Airflow at {url} did not sign in '{user}' ({status}): {detail}. Nobody was signed in. Check name and "
            "password, or token, with who keeps Airflow's users; on the embedded stack ./kappa up writes both."
        )


@dataclass(frozen=True)
class Login(Serializable):
    """A user of the Airflow at this address, by a token that it takes until `expires`."""

    user: str
    url: str
    token: str
    expires: datetime


class SignedIn(httpx.Auth):
    """A user's requests, each with the token. Without one, or once Airflow takes it no longer, the password gets one.
    `ca` is `airflow.ca` of the settings.

    Raises NotSignedIn where there is no password, and SignInRefused.
    """

    requires_response_body = True

    def __init__(
        self, url: str, user: str, password: str | None = None, token: str | None = None, ca: str = ""
    ) -> None:
        self.url, self.user, self.ca = url, user, ca
        self._password, self._token = password, token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """The request, and before it or after a refusal one for a token."""
        if self._token is None:
            yield from self._renewed()
        request.headers["Authorization"] = f"Bearer {self._token}"
        answer = yield request
        if answer.status_code == httpx.codes.UNAUTHORIZED:
            yield from self._renewed()
            request.headers["Authorization"] = f"Bearer {self._token}"
            yield request

    def _renewed(self) -> Generator[httpx.Request, httpx.Response, None]:
        if self._password is None:
            raise NotSignedIn(self.url, f"it does not take the token of '{self.user}' any more")
        self._token = _token(self.url, self.user, (yield _asked(self.url, self.user, self._password)))


def client(
    url: str,
    ca: str,
    timeout: httpx.Timeout | float,
    transport: httpx.BaseTransport | None,
    who: SignedIn | None = None,
) -> httpx.Client:
    """A client of the Airflow at this address, which believes the authority of the file `ca` or, where none is named,
    those that everybody knows. Raises UnreadableAuthority."""
    try:
        known = ssl.create_default_context(cafile=ca) if ca else True
    except OSError as error:
        raise UnreadableAuthority(ca, error) from error
    return httpx.Client(base_url=url, auth=who, timeout=timeout, trust_env=False, verify=known, transport=transport)


def sign_in(url: str, user: str, password: str, ca: str = "", transport: httpx.BaseTransport | None = None) -> Login:
    """A token for this user. Raises SignInRefused, Unreachable, UnreadableAuthority."""
    try:
        with client(url, ca, 60.0, transport) as airflow:
            token = _token(url, user, airflow.send(_asked(url, user, password)))
    except httpx.HTTPError as error:
        raise Unreachable("Airflow", url, error or type(error).__name__) from error
    return Login(user, url, token, expiry(token, datetime.now(UTC)))


def by_token(url: str, user: str, token: str, ca: str = "", transport: httpx.BaseTransport | None = None) -> Login:
    """What Airflow gave this user in another way, as where single sign-on stands before it; it is asked whether it
    takes it. Raises SignInRefused, Unreachable, UnreadableAuthority."""
    try:
        with client(url, ca, 60.0, transport) as airflow:
            answer = airflow.get("/api/v2/dags", params={"limit": 1}, headers={"Authorization": f"Bearer {token}"})
    except httpx.HTTPError as error:
        raise Unreachable("Airflow", url, error or type(error).__name__) from error
    if answer.status_code == httpx.codes.UNAUTHORIZED:
        raise SignInRefused(url, user, answer.status_code, answer.text[:200])
    return Login(user, url, token, expiry(token, datetime.now(UTC)))


def users_file(settings: Settings) -> Path:
    """The file with the passwords of the embedded Airflow's users: {"admin": ..., "operator": ...}."""
    return settings.secrets / "airflow-users.json"


def password_of(settings: Settings, user: str) -> str:
    """The password of a user of the embedded stack, which goes to its own Airflow only. Raises NoPassword."""
    file = users_file(settings)
    try:
        if not settings.is_embedded:
            raise NoPassword(str(file), user)
        return str(json.loads(file.read_text())[user])
    except (OSError, ValueError, KeyError) as error:
        raise NoPassword(str(file), user) from error


def embedded(settings: Settings, user: str) -> SignedIn:
    """A user of the embedded stack, by the password that the stack keeps. Raises NoPassword."""
    return SignedIn(settings.airflow_url, user, password_of(settings, user))


def _asked(url: str, user: str, password: str) -> httpx.Request:
    return httpx.Request("POST", f"{url}/auth/token", json={"username": user, "password": password})


def _token(url: str, user: str, answer: httpx.Response) -> str:
    try:
        held = answer.json()
    except ValueError:
        held = {}
    if not answer.is_success or "access_token" not in held:
        raise SignInRefused(url, user, answer.status_code, held.get("detail", answer.text[:200]))
    return str(held["access_token"])


def expiry(token: str, now: datetime) -> datetime:
    """When the token says that it ends (RFC 7519, `exp`); it is not verified here, since Airflow does that."""
    try:
        body = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        return datetime.fromtimestamp(claims["exp"], UTC)
    except (IndexError, KeyError, TypeError, ValueError):
        return now + UNSAID
