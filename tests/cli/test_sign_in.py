"""Who commands act as: who signed in, for that Airflow and until then; else the embedded stack's default person."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from cli import sign_in
from kappa.airflow_api import Airflow, Run
from kappa.airflow_sign_in import Login, NotSignedIn, users_file
from kappa.core.installation.settings import Settings
from stack.services import passwords

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
RUN = Run("deploy_stream", "run-1")


@pytest.fixture
def ada(settings: Settings) -> Login:
    """Somebody who has signed in for another hour."""
    return Login("ada", settings.airflow_url, "hers", NOON + timedelta(hours=1))


def asked_with(settings: Settings) -> list[str]:
    """The sign-ins as `user`, and the tokens, by which a person asks Airflow for a run."""
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/auth/token":
            seen.append(json.loads(request.content)["username"])
            return httpx.Response(201, json={"access_token": "new"})
        seen.append(request.headers["Authorization"].removeprefix("Bearer "))
        return httpx.Response(200, json={"state": "running", "task_instances": []})

    Airflow(sign_in.person(settings, NOON), httpx.MockTransport(answer)).look(RUN)
    return seen


def test_nobody_acts_where_nobody_signed_in(settings: Settings) -> None:
    with pytest.raises(NotSignedIn, match=r"nobody is signed in\. .* \./kappa login --user NAME.*\./kappa up"):
        sign_in.person(settings, NOON)


def test_who_signed_in_acts_by_the_token(settings: Settings, ada: Login) -> None:
    sign_in.keep(settings, ada)
    assert sign_in.person(settings, NOON).user == "ada"
    assert set(asked_with(settings)) == {"hers"}


def test_the_file_is_for_its_owner_only_and_holds_name_address_and_end(settings: Settings, ada: Login) -> None:
    sign_in.keep(settings, ada)
    file = sign_in.file(settings)
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    held = json.loads(file.read_text())
    assert (held["user"], held["url"]) == ("ada", settings.airflow_url)
    assert sign_in.kept(settings) == ada


def test_an_ended_token_is_not_sent_and_says_since_when(settings: Settings, ada: Login) -> None:
    sign_in.keep(settings, replace(ada, expires=NOON))
    with pytest.raises(NotSignedIn, match=r"'ada' was signed in until 2026-01-31 12:00 UTC.*\./kappa login"):
        sign_in.person(settings, NOON)


def test_a_token_goes_to_no_other_airflow(settings: Settings, ada: Login) -> None:
    sign_in.keep(settings, replace(ada, url="http://elsewhere"))
    with pytest.raises(NotSignedIn, match="'ada' is signed in to the Airflow at http://elsewhere"):
        sign_in.person(settings, NOON)


def test_on_the_embedded_stack_a_default_person_acts_who_is_not_admin(settings: Settings) -> None:
    passwords.make(settings)
    assert passwords.PERSON != "admin"
    assert asked_with(settings)[:2] == [passwords.PERSON, "new"]


@pytest.mark.parametrize("change", [{"expires": NOON}, {"url": "http://other.port"}])
def test_a_user_of_the_embedded_stack_is_signed_in_again_by_itself(
    settings: Settings, ada: Login, change: dict[str, object]
) -> None:
    passwords.make(settings)
    sign_in.keep(settings, replace(ada, user=passwords.APPROVER, **change))  # type: ignore[arg-type]
    assert asked_with(settings)[:2] == [passwords.APPROVER, "new"]


def test_who_signed_in_beside_an_embedded_stack_does_not_become_its_person(settings: Settings, ada: Login) -> None:
    passwords.make(settings)
    sign_in.keep(settings, replace(ada, expires=NOON))
    with pytest.raises(NotSignedIn, match="'ada'"):
        sign_in.person(settings, NOON)


def test_signing_out_forgets(settings: Settings, ada: Login) -> None:
    sign_in.keep(settings, ada)
    assert sign_in.forget(settings) == ada
    assert (sign_in.kept(settings), sign_in.forget(settings)) == (None, None)


def test_a_damaged_file_is_nobody(settings: Settings, ada: Login) -> None:
    sign_in.keep(settings, ada)
    sign_in.file(settings).write_text("{")
    assert sign_in.kept(settings) is None


def test_a_stack_of_before_gives_new_users_a_password_and_keeps_the_others(settings: Settings) -> None:
    """Airflow would make the missing one itself, and print it into its log."""
    settings.secrets.mkdir(parents=True)
    users_file(settings).write_text(json.dumps({"admin": "sesame"}))
    passwords.make(settings)
    held = json.loads(users_file(settings).read_text())
    assert held["admin"] == "sesame"
    assert set(held) == set(passwords.AIRFLOW_USERS)
    assert users_file(settings).stat().st_mode & 0o777 == 0o600
