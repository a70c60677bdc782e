"""The commands `login`, `logout` and `whoami`: which person of Airflow the other commands act as."""

from __future__ import annotations

import getpass
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from cli import sign_in
from cli.entry import settings
from cli.output import err
from kappa import airflow_sign_in
from kappa.airflow_api import Airflow
from kappa.airflow_sign_in import NoPassword, SignedIn, password_of
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal

User = Annotated[str | None, typer.Option("--user", help="The name in Airflow; by default who is logged in here.")]
PasswordFile = Annotated[
    str | None,
    typer.Option("--password-file", metavar="FILE", help="Its first line is the password; - is standard input."),
]
TokenFile = Annotated[
    str | None,
    typer.Option("--token-file", metavar="FILE", help="Its first line is a token of Airflow's API; - as above."),
]


class NoPasswordGiven(Refusal):
    """There is no password to sign in with."""

    def __init__(self, user: str, where: str) -> None:
        super().__init__(
            f"there is no password for '{user}' {where}; nobody was signed in. Give one on a terminal, by "
            "--password-file FILE, or as the first line of standard input."
        )


class NoTokenGiven(Refusal):
    """Where a token should be there is none."""

    def __init__(self, user: str, where: str) -> None:
        super().__init__(
            f"there is no token of '{user}' {where}; nobody was signed in. Write one into its first line, as Airflow "
            "gives it to who uses its REST API."
        )


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    for command in (login, logout, whoami):
        app.command()(command)


def login(user: User = None, password_file: PasswordFile = None, token_file: TokenFile = None) -> None:
    """Sign in to Airflow: the other commands then act as this person, until the token ends.

    The password is asked for on a terminal. A user of the embedded stack needs none. Where people have no password that
    Airflow knows, as behind single sign-on, a token of theirs does.
    """
    if password_file and token_file:
        raise typer.BadParameter("give --password-file or --token-file, not both")
    stack, name = settings(), user or getpass.getuser()
    where, ca = stack.airflow_url, stack.airflow.ca
    if token_file:
        made = airflow_sign_in.by_token(where, name, _first_line(name, token_file, NoTokenGiven), ca)
    else:
        made = airflow_sign_in.sign_in(where, name, _password(stack, name, password_file), ca)
    sign_in.keep(stack, made)
    err.print(f"signed in as {name} until {made.expires:%Y-%m-%d %H:%M} UTC: {where}", highlight=False)


def logout() -> None:
    """Forget who signed in, and tell Airflow that the token is no longer good."""
    stack = settings()
    was = sign_in.forget(stack)
    if was is None:
        err.print("nobody was signed in")
        return
    try:
        Airflow(SignedIn(was.url, was.user, token=was.token, ca=stack.airflow.ca)).sign_out()
    except Refusal as problem:
        err.print(f"{was.user} is signed out here; Airflow was not told: {problem}", markup=False, highlight=False)
    else:
        err.print(f"{was.user} is signed out", highlight=False)


def whoami() -> None:
    """Show which person of Airflow the commands act as."""
    stack, now = settings(), datetime.now(UTC)
    who = sign_in.person(stack, now)
    held = sign_in.kept(stack)
    known = held is not None and sign_in.wrong(held, stack.airflow_url, now) is None
    until = f"until {held.expires:%Y-%m-%d %H:%M} UTC" if held and known else "of the embedded stack"
    typer.echo(f"{who.user} {until}: {stack.airflow_url}")


def _password(stack: Settings, user: str, given: str | None) -> str:
    """The password, from where it is given. Raises NoPasswordGiven."""
    if given is None:
        try:
            return password_of(stack, user)
        except NoPassword:
            if sys.stdin.isatty():
                asked: str = typer.prompt(f"Password of {user}", hide_input=True, err=True)
                return asked
    return _first_line(user, given, NoPasswordGiven)


def _first_line(user: str, given: str | None, none: type[NoPasswordGiven | NoTokenGiven]) -> str:
    """The password or token, from the file that is given or from standard input. Raises `none` where there is none."""
    of_file = given not in (None, "-")
    try:
        text = Path(given or "").read_text() if of_file else sys.stdin.readline()
    except (OSError, UnicodeDecodeError) as error:
        raise none(user, f"in {given} ({error})") from error
    word = text.partition("\n")[0].removesuffix("\r")
    if not word:
        raise none(user, f"in {given}" if of_file else "on standard input")
    return word
