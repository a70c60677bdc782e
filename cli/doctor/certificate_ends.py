"""Tries the certificates that the settings name, and those in the folder of secrets: that none ends within a month."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from cli.doctor.trial import Trial, Wrong
from kappa.core.installation.settings import Settings
from stack.provisioning.role_secrets import HOST_FILE
from stack.services import certificates

PART = "host"
MADE = ("*.pem", "*.crt", "tls/*.crt")
"""How files of certificates are called in a folder of secrets."""
SYSTEM = "system"
"""Postgres's word for the authorities of the system."""


def trials(settings: Settings) -> Iterator[Trial]:
    """Each file once: the authorities that the settings name, and what was made for an installation's own servers."""
    named = (settings.kafka_server.ca, settings.database_server.sslrootcert, settings.airflow.ca)
    files = [*(Path(file) for file in named if file not in ("", SYSTEM)), *_made(settings.secrets)]
    for file in dict.fromkeys(files):
        yield Trial(PART, f"certificate {file}", partial(_lasts, file, _renewal(file, settings.secrets)))


def now() -> datetime:
    """The time of this machine."""
    return datetime.now(UTC)


def _made(secrets: Path) -> Iterator[Path]:
    """Files of certificates only: beside one that holds a key, too, there is another without it."""
    for file in sorted(file for pattern in MADE for file in secrets.glob(pattern)):
        with suppress(OSError, UnicodeError):
            text = file.read_text()
            if "BEGIN CERTIFICATE" in text and "PRIVATE KEY" not in text:
                yield file


def _lasts(file: Path, renewal: str) -> str:
    if not file.exists():
        raise Wrong(f"{file} does not exist", "Copy it from the host that has it, or correct its name in the settings.")
    end = certificates.ends(file)
    left = end - now()
    if left < certificates.RENEWED_BEFORE:
        when = f"in {left.days} days" if left > timedelta() else "it has ended"
        wanted = certificates.RENEWED_BEFORE.days
        raise Wrong(f"ends on {end:%Y-%m-%d %H:%M} UTC, {when}: it should last for {wanted} days more", renewal)
    return f"ends on {end:%Y-%m-%d}"


def _renewal(file: Path, secrets: Path) -> str:
    """What makes the next one, by who made this one: containers, the maker of hosts' secrets, or somebody else."""
    if file.is_relative_to(secrets) and list(secrets.glob("*.both.pem")):
        return f"'docker compose stop', delete {secrets}/*.pem, 'docker compose up -d'."
    if file.is_relative_to(secrets) and ((secrets / "tls").is_dir() or (secrets / HOST_FILE).exists()):
        return (
            "Where it was made, run stack.provisioning.host_secrets again (terraform apply -replace="
            "'module.installation.terraform_data.secrets[0]'); where the authority itself ends (ca.pem), delete the "
            "folders authority and secrets/tls there first. Then copy given/HOST to each host and restart its units."
        )
    return "Ask whoever issued it for the next one, put it there, and restart what was given it."
