"""Who asks Airflow: a token that is used until it is refused, and a password that gets the next one."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from kappa import airflow_api
from kappa.airflow_api import Airflow, Run
from kappa.airflow_sign_in import (
    UNSAID,
    NoPassword,
    NotSignedIn,
    SignedIn,
    SignInRefused,
    UnreadableAuthority,
    by_token,
    embedded,
    expiry,
    sign_in,
    users_file,
)
from kappa.core.installation import addresses
from kappa.core.installation.addresses import Postgres
from kappa.core.installation.settings import Settings
from kappa.unavailable import Unreachable
from tests.rigs.certificates import certify

URL = "http://airflow.test"
RUN = Run("deploy_stream", "run-1")
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def jwt(claims: dict[str, Any]) -> str:
    """A token that says this, of no signature."""
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{body}.signature"


class Server:
    """Airflow, which gives each sign-in by `password` a new token and takes the newest one only."""

    def __init__(self, password: str = "sesame") -> None:
        self.password, self.given = password, 0
        self.asked: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.path)
        if request.url.path == "/auth/token":
            if json.loads(request.content) != {"username": "ada", "password": self.password}:
                return httpx.Response(401, json={"detail": "Invalid credentials"})
            self.given += 1
            return httpx.Response(201, json={"access_token": f"t{self.given}"})
        known = request.headers["Authorization"] == f"Bearer t{self.given}"
        return httpx.Response(200 if known else 401, json={"state": "running", "task_instances": []})


def session(who: SignedIn, server: Server) -> Airflow:
    return Airflow(who, httpx.MockTransport(server))


def test_one_password_gets_one_token_for_all_requests() -> None:
    server = Server()
    asking = session(SignedIn(URL, "ada", "sesame"), server)
    asking.look(RUN)
    asking.look(RUN)
    assert (server.asked.count("/auth/token"), len(server.asked)) == (1, 5)


def test_a_token_that_is_refused_is_renewed_by_the_password_and_the_request_repeated() -> None:
    server = Server()
    assert session(SignedIn(URL, "ada", "sesame", "old"), server).look(RUN).state == "running"
    assert server.given == 1


def test_without_a_password_a_refused_token_names_the_remedy() -> None:
    with pytest.raises(NotSignedIn, match=r"takes no request .* 'ada' any more.*\./kappa login --user"):
        session(SignedIn(URL, "ada", token="old"), Server()).look(RUN)


def test_a_wrong_password_is_told_apart_from_a_refused_request() -> None:
    server = Server("other")
    with pytest.raises(SignInRefused, match=r"did not sign in 'ada' \(401\): Invalid credentials"):
        session(SignedIn(URL, "ada", "sesame"), server).look(RUN)
    assert server.asked == ["/auth/token"]


def test_a_token_is_kept_until_it_ends_once_airflow_takes_it() -> None:
    server = Server()
    server.given = 1
    with pytest.raises(SignInRefused, match=r"did not sign in 'ada' \(401\).*or token"):
        by_token(URL, "ada", "t0", transport=httpx.MockTransport(server))
    made = by_token(URL, "ada", "t1", transport=httpx.MockTransport(server))
    assert (made.user, made.url, made.token) == ("ada", URL, "t1")
    assert made.expires - datetime.now(UTC) <= UNSAID
    assert server.asked == ["/api/v2/dags"] * 2, "no password is asked for"


def test_signing_in_gives_the_token_and_when_it_ends() -> None:
    end = datetime(2026, 2, 1, 12, tzinfo=UTC)

    def answer(request: httpx.Request) -> httpx.Response:
        assert str(request.url) == f"{URL}/auth/token"
        return httpx.Response(201, json={"access_token": jwt({"sub": "4", "exp": end.timestamp()})})

    made = sign_in(URL, "ada", "sesame", transport=httpx.MockTransport(answer))
    assert (made.user, made.url, made.expires) == ("ada", URL, end)


@pytest.mark.parametrize("token", ["opaque", jwt({}), "a.%%%.c", jwt({"exp": "soon"})])
def test_a_token_that_does_not_say_when_it_ends_is_kept_for_a_while(token: str) -> None:
    assert expiry(token, NOON) == NOON + UNSAID > NOON + timedelta(minutes=1)


@pytest.mark.parametrize("answer", [httpx.Response(201, text="<html>"), httpx.Response(201, json={})])
def test_what_is_no_token_is_refused(answer: httpx.Response) -> None:
    with pytest.raises(SignInRefused):
        sign_in(URL, "ada", "sesame", transport=httpx.MockTransport(lambda _: answer))


def test_an_airflow_that_is_away_is_named() -> None:
    def away(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with pytest.raises(Unreachable, match="Airflow at"):
        sign_in(URL, "ada", "sesame", transport=httpx.MockTransport(away))


def test_only_a_user_of_the_embedded_stack_has_a_password_that_is_kept(tmp_path: Path) -> None:
    settings, server = Settings(home=tmp_path), Server()
    with pytest.raises(NoPassword, match=r"'ada'. Run \./kappa up"):
        embedded(settings, "ada")
    settings.secrets.mkdir()
    users_file(settings).write_text(json.dumps({"ada": "sesame"}))
    assert session(embedded(settings, "ada"), server).look(RUN).state == "running"
    elsewhere = replace(settings, postgres=Postgres(host="db.example.org"))
    with pytest.raises(NoPassword):
        embedded(elsewhere, "ada")


class Secured(BaseHTTPRequestHandler):
    """An Airflow behind TLS, which gives everybody a token and is well."""

    def do_GET(self) -> None:
        """Its health."""
        self._answer({"metadatabase": {"status": "healthy"}})

    def do_POST(self) -> None:
        """A sign-in."""
        self._answer({"access_token": "t1"})

    def log_message(self, *_: object) -> None:
        """Nothing is said."""

    def _answer(self, told: dict[str, Any]) -> None:
        self.send_response(201)
        self.end_headers()
        self.wfile.write(json.dumps(told).encode())


@contextmanager
def secured(folder: Path) -> Iterator[str]:
    """The address of such a server, whose certificate is of an authority that nobody knows: `ca.pem`."""
    certify(folder, ["localhost"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "host.pem", folder / "host.key")
    with ThreadingHTTPServer(("127.0.0.1", 0), Secured) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"https://localhost:{server.server_port}"
        server.shutdown()


def test_an_airflow_with_a_certificate_of_one_s_own_authority_is_believed_by_its_file_only(tmp_path: Path) -> None:
    with secured(tmp_path / "tls") as url:
        ca = str(tmp_path / "tls" / "ca.pem")
        stranger = Settings(tmp_path, airflow=addresses.Airflow(url))
        with pytest.raises(Unreachable, match="certificate verify failed"):
            sign_in(url, "ada", "sesame")
        assert airflow_api.health(stranger) is None
        assert sign_in(url, "ada", "sesame", ca).token == "t1"
        assert Airflow(SignedIn(url, "ada", token="t1", ca=ca)).ask("to show", "GET", "/x")["metadatabase"]
        assert airflow_api.health(replace(stranger, airflow=addresses.Airflow(url, ca)))


@pytest.mark.parametrize("text", [None, "no certificate"])
def test_an_authority_that_cannot_be_read_is_named(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "ca.pem"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UnreadableAuthority, match=str(file)):
        sign_in("https://airflow.test", "ada", "sesame", str(file))
    assert airflow_api.health(Settings(tmp_path, airflow=addresses.Airflow("https://a", str(file)))) is None
