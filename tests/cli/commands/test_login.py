"""`login`, `logout`, `whoami`: a password from anywhere but the command line, a token in a private file only."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from cli import sign_in
from cli.commands import login as commands
from kappa.airflow_api import Airflow
from kappa.airflow_sign_in import Login, SignInRefused
from kappa.core.installation.settings import Settings
from kappa.unavailable import Unreachable
from stack.services import passwords

END = datetime.now(UTC) + timedelta(hours=24)
TOKEN = "the-token"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Each sign-in as (user, password); the password 'wrong' is."""
    seen: list[tuple[str, str]] = []

    def give(url: str, user: str, password: str, ca: str) -> Login:
        assert ca == ""
        seen.append((user, password))
        if password == "wrong":
            raise SignInRefused(url, user, 401, "Invalid credentials")
        return Login(user, url, TOKEN, END)

    monkeypatch.setattr("kappa.airflow_sign_in.sign_in", give)
    return seen


def run(*words: str, stdin: str | None = None) -> Result:
    """The command."""
    app = typer.Typer()
    commands.register(app)
    return CliRunner().invoke(app, list(words), input=stdin)


@pytest.mark.parametrize("ending", ["", "\n", "\r\n", "\nsecond line\n"])
def test_the_first_line_of_standard_input_or_of_a_file_is_the_password(
    settings: Settings, asked: list[tuple[str, str]], tmp_path: Path, ending: str
) -> None:
    (tmp_path / "word").write_text(f"ses ame {ending}")
    run("login", "--user", "ada", stdin=f"ses ame {ending}")
    run("login", "--user", "ada", "--password-file", str(tmp_path / "word"))
    run("login", "--user", "ada", "--password-file", "-", stdin=f"ses ame {ending}")
    assert asked == [("ada", "ses ame ")] * 3


def test_who_signed_in_is_kept_and_the_token_and_password_are_printed_nowhere(
    settings: Settings, asked: list[tuple[str, str]]
) -> None:
    said = run("login", "--user", "ada", stdin="sesame")
    held = sign_in.kept(settings)
    assert held is not None
    assert (held.user, held.url, held.token) == ("ada", settings.airflow_url, TOKEN)
    shown = run("whoami").output
    assert shown == f"ada until {END:%Y-%m-%d %H:%M} UTC: {settings.airflow_url}\n"
    assert "signed in as ada" in said.output
    assert not {TOKEN, "sesame"} & set((said.output + shown).split())


def test_a_refused_sign_in_leaves_who_was_signed_in(settings: Settings, asked: list[tuple[str, str]]) -> None:
    run("login", "--user", "ada", stdin="sesame")
    assert isinstance(run("login", "--user", "bob", stdin="wrong").exception, SignInRefused)
    held = sign_in.kept(settings)
    assert held is not None
    assert held.user == "ada"


@pytest.mark.parametrize(("words", "stdin"), [((), ""), (("--password-file", "/nowhere"), None)])
def test_no_password_is_refused_before_airflow_is_asked(
    settings: Settings, asked: list[tuple[str, str]], words: tuple[str, ...], stdin: str | None
) -> None:
    assert isinstance(run("login", "--user", "ada", *words, stdin=stdin).exception, commands.NoPasswordGiven)
    assert asked == []


def test_no_option_takes_a_password() -> None:
    """What stands on a command line, every user of the machine can read."""
    options = {word for word in run("login", "--help").output.split() if word.startswith("--")}
    assert options == {"--user", "--password-file", "--token-file", "--help"}


def test_a_token_that_airflow_gave_otherwise_is_kept_once_airflow_takes_it(
    settings: Settings, asked: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind single sign-on a person has no password that Airflow knows."""
    tried: list[tuple[str, str]] = []

    def take(url: str, user: str, token: str, ca: str) -> Login:
        tried.append((user, token))
        if token == "old":
            raise SignInRefused(url, user, 401, "Signature has expired")
        return Login(user, url, token, END)

    monkeypatch.setattr("kappa.airflow_sign_in.by_token", take)
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    run("login", "--user", "ada", "--token-file", str(tmp_path / "token"))
    refused = run("login", "--user", "bob", "--token-file", "-", stdin="old\n")
    held = sign_in.kept(settings)
    assert held is not None
    assert (held.user, held.token) == ("ada", TOKEN)
    assert isinstance(refused.exception, SignInRefused)
    assert (tried, asked) == ([("ada", TOKEN), ("bob", "old")], [])


def test_no_token_is_refused_before_airflow_is_asked_and_so_is_a_password_beside_one(
    settings: Settings, asked: list[tuple[str, str]], tmp_path: Path
) -> None:
    assert isinstance(run("login", "--token-file", "/nowhere").exception, commands.NoTokenGiven)
    assert isinstance(run("login", "--token-file", "-", stdin="\n").exception, commands.NoTokenGiven)
    both = run("login", "--token-file", "-", "--password-file", "-", stdin="x")
    assert both.exit_code == 2
    assert "not both" in both.output
    assert sign_in.kept(settings) is None


def test_a_user_of_the_embedded_stack_is_asked_for_nothing(settings: Settings, asked: list[tuple[str, str]]) -> None:
    passwords.make(settings)
    assert run("whoami").output == f"operator of the embedded stack: {settings.airflow_url}\n"
    run("login", "--user", "approver")
    assert asked == [passwords.airflow_login(settings, "approver")]
    assert run("whoami").output.startswith("approver until ")


@pytest.mark.parametrize("away", [False, True])
def test_logout_forgets_and_tells_airflow(
    settings: Settings, asked: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch, away: bool
) -> None:
    told: list[str] = []

    def sign_out(session: Airflow) -> None:
        told.append(session.user)
        if away:
            raise Unreachable("Airflow", settings.airflow_url, "refused")

    monkeypatch.setattr(Airflow, "sign_out", sign_out)
    run("login", "--user", "ada", stdin="sesame")
    assert ("Airflow was not told" in run("logout").output) is away
    assert (told, sign_in.kept(settings)) == (["ada"], None)
    assert "nobody was signed in" in run("logout").output


def test_the_file_of_a_login_holds_nothing_else(settings: Settings, asked: list[tuple[str, str]]) -> None:
    run("login", "--user", "ada", stdin="sesame")
    assert set(json.loads(sign_in.file(settings).read_text())) == {"user", "url", "token", "expires"}
