"""Who is let in at each address below `/kappa`, by every kind of sign-in there is, asked of a real api-server."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from functools import reduce
from typing import Any
from uuid import uuid4

import httpx
import jwt
import pytest
from fastapi.routing import APIRoute

from kappa.airflow_sign_in import password_of, sign_in
from tests.rigs.api_server import VIEWER, ApiServer

pytestmark = pytest.mark.long(minutes=2)
CHANGES = ("POST", "PUT", "PATCH", "DELETE")
AT_WORK = {200, 503}
"""503 says that the database does not answer: behind this server there is none. Who sees it is in."""
GIVEN = {"{name}": "console.css", "{page}": "numbers"}
ASKED = {
    "/console/data/value": "?partition=0&offset=0",
    "/console/data/explanation": "?client=c&ad=a&minute=60",
    "/console/data/validation": f"?replay={uuid4()}",
    "/console/data/report": f"?replay={uuid4()}",
    "/console/data/comparison": "?job=ad_ctr&left=1&right=2",
}


def paths() -> list[str]:
    """Each route below `/kappa`, filled in so that it is reached."""
    from kappa.airflow.routes import app

    routes = [one.path for one in app.routes if isinstance(one, APIRoute)]
    found = [reduce(lambda path, part: path.replace(part, GIVEN[part]), GIVEN, path) for path in routes]
    return [f"/kappa{path}{ASKED.get(path, '')}" for path in found]


@pytest.fixture
def token(server: ApiServer) -> str:
    """That of a viewer, whom Airflow has signed in."""
    return sign_in(server.settings.airflow_url, VIEWER, password_of(server.settings, VIEWER)).token


@pytest.fixture
def client(server: ApiServer) -> httpx.Client:
    return httpx.Client(base_url=server.settings.airflow_url, trust_env=False, timeout=60)


def refused(server: ApiServer, token: str) -> dict[str, Mapping[str, str]]:
    """Headers of all who are not signed in here, by who they are."""
    claims: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
    secret = server.secret
    ended = jwt.encode({**claims, "exp": time.time() - 3600}, secret, "HS512")
    return {
        "nobody": {},
        "a word for a token": _bearer("another"),
        "a word for a cookie": _cookie("another"),
        "a token without a signature": _bearer(jwt.encode(claims, "", "none")),
        "a token of another Airflow": _bearer(jwt.encode(claims, "f" * 64, "HS512")),
        "a token that has ended": _bearer(ended),
    }


def test_every_address_is_for_a_viewer_with_a_token_or_a_cookie_and_for_nobody_else(
    server: ApiServer, token: str, client: httpx.Client
) -> None:
    wrong = []
    for who, headers in refused(server, token).items():
        answers = [client.get(path, headers=headers) for path in paths()]
        _tell(who, answers)
        wrong += [(who, one.url.path, one.status_code) for one in answers if one.status_code not in {401, 403}]
    for who, headers in {"a viewer's token": _bearer(token), "a viewer's cookie": _cookie(token)}.items():
        answers = [client.get(path, headers=headers) for path in paths()]
        _tell(who, answers)
        wrong += [(who, one.url.path, one.status_code) for one in answers if one.status_code not in AT_WORK]
    assert wrong == []
    assert "<h1>Now</h1>" in client.get("/kappa/console/", headers=_cookie(token)).text


def test_a_token_is_let_in_for_its_signature(server: ApiServer, token: str, client: httpx.Client) -> None:
    """What the others are refused for is what they say, not how this test made them."""
    claims = jwt.decode(token, options={"verify_signature": False})
    again = jwt.encode(claims, server.secret, "HS512")
    assert client.get("/kappa/code", headers=_bearer(again)).status_code == 200


def test_no_address_takes_anything_that_changes(token: str, client: httpx.Client) -> None:
    asked = [(method, path) for method in CHANGES for path in paths()]
    answers = {(m, p): client.request(m, p, headers=_bearer(token), json={}).status_code for m, p in asked}
    assert {one: said for one, said in answers.items() if said != 405} == {}


def _bearer(token: str) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _cookie(token: str) -> Mapping[str, str]:
    return {"Cookie": f"_token={token}"}


def _tell(who: str, answers: list[httpx.Response]) -> None:
    counted = Counter((one.status_code, _said(one)) for one in answers)
    print(f"{who}: {', '.join(f'{n} times {code} {said}' for (code, said), n in sorted(counted.items()))}")


def _said(answer: httpx.Response) -> str:
    return str(answer.json().get("detail", "")) if answer.status_code in {401, 403} else ""
