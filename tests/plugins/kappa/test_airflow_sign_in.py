"""Who asks Airflow: a token that is used until it is refused, and a password that gets the next one."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from kappa.airflow_api import Airflow, Run
from kappa.airflow_sign_in import (
    UNSAID,
    NoPassword,
    NotSignedIn,
    SignedIn,
    SignInRefused,
    embedded,
    expiry,
    sign_in,
    users_file,
)
from kappa.core.installation.addresses import Postgres
from kappa.core.installation.settings import Settings
from kappa.unavailable import Unreachable

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


def test_signing_in_gives_the_token_and_when_it_ends() -> None:
    end = datetime(2026, 2, 1, 12, tzinfo=UTC)

    def answer(request: httpx.Request) -> httpx.Response:
        assert str(request.url) == f"{URL}/auth/token"
        return httpx.Response(201, json={"access_token": jwt({"sub": "4", "exp": end.timestamp()})})

    made = sign_in(URL, "ada", "sesame", httpx.MockTransport(answer))
    assert (made.user, made.url, made.expires) == ("ada", URL, end)


@pytest.mark.parametrize("token", ["opaque", jwt({}), "a.%%%.c", jwt({"exp": "soon"})])
def test_a_token_that_does_not_say_when_it_ends_is_kept_for_a_while(token: str) -> None:
    assert expiry(token, NOON) == NOON + UNSAID > NOON + timedelta(minutes=1)


@pytest.mark.parametrize("answer", [httpx.Response(201, text="<html>"), httpx.Response(201, json={})])
def test_what_is_no_token_is_refused(answer: httpx.Response) -> None:
    with pytest.raises(SignInRefused):
        sign_in(URL, "ada", "sesame", httpx.MockTransport(lambda _: answer))


def test_an_airflow_that_is_away_is_named() -> None:
    def away(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with pytest.raises(Unreachable, match="Airflow at"):
        sign_in(URL, "ada", "sesame", httpx.MockTransport(away))


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
