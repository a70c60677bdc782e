"""Where the parts of an installation are, its files and its metrics; what is not named is the embedded stack's."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from kappa.core.refusals import Refusal

LOOPBACK = "127.0.0.1"
"""The address of the embedded stack, and of a Spark session that does its work in its own process."""
ENCRYPTED = ("verify-full", "verify-ca")
"""The values of `sslmode` with which libpq refuses a server that the certificate does not vouch for."""

ENCRYPTED_PROTOCOLS = ("SASL_SSL", "SSL")
_HOST_AND_PORT = re.compile(r"(\[(?P<v6>[^\[\]\s]+)\]|(?P<host>[^\[\]:/\s]+)):(?P<port>\d{1,5})", re.ASCII)
PROTOCOLS = ("PLAINTEXT", "SASL_PLAINTEXT", *ENCRYPTED_PROTOCOLS)


class PlainAddress(Refusal):
    """Something would be said without encryption to an address that is not loopback."""

    def __init__(self, setting: str, value: str, remedy: str) -> None:
        super().__init__(
            f"{setting} = {value!r}: whatever is on the way could read and change what is said there, for the address "
            f"is not loopback and nothing is encrypted. {remedy}, or say that the network is trusted: "
            f"{setting.split('.')[0]}.allow_plain = true. Nothing was contacted."
        )


class NoHostAndPort(Refusal):
    """An address of Kafka is no host and port, so nobody could say whether it is loopback."""

    def __init__(self, bootstrap: str, address: str) -> None:
        super().__init__(
            f"kafka.bootstrap = {bootstrap!r}: {address!r} is no host:port. Each broker is named by both, several with "
            "commas, an address of IPv6 in brackets: k1.example.com:9093,[2001:db8::1]:9093. Correct it. Nothing was "
            "contacted."
        )


class MissingAddress(Refusal):
    """Some parts of an installation have an address and others have none."""

    def __init__(self, named: Iterable[str], missing: Iterable[str]) -> None:
        super().__init__(
            f"the settings name {', '.join(named)}, but not {', '.join(missing)}. An installation names all its parts, "
            "or none, which is the embedded stack. Add what is missing (docs/settings.md)."
        )


class UnevenMasters(Refusal):
    """Of the masters of Spark some lack an address."""

    def __init__(self, masters: int, rest: int, ui: int) -> None:
        super().__init__(
            f"spark.master names {masters} masters, spark.rest {rest} submission servers and spark.ui {ui} pages: each "
            "master has one of both, in the same order. Add what is missing."
        )


class WrongProtocol(Refusal):
    """`kafka.protocol` has a value that no client of Kafka knows."""

    def __init__(self, protocol: str) -> None:
        super().__init__(f"kafka.protocol is {protocol!r}, but must be one of {', '.join(PROTOCOLS)}. Correct it.")


@dataclass(frozen=True)
class Kafka:
    """How Kafka is reached: `bootstrap` is host:port, several with commas. `ca` is the file of the certificate
    authority; empty: those of the system. Each user's password is in a file of its own in the secrets folder."""

    bootstrap: str = ""
    protocol: str = "SASL_SSL"
    ca: str = ""
    allow_plain: bool = False

    @property
    def asks_who(self) -> bool:
        """Whether clients sign in."""
        return self.protocol.startswith("SASL_")

    @property
    def hosts(self) -> list[str]:
        """The hosts of the addresses, without brackets. Raises NoHostAndPort."""
        return [_host(self.bootstrap, address.strip()) for address in self.bootstrap.split(",")]

    def check(self) -> None:
        """Raises WrongProtocol, NoHostAndPort, PlainAddress."""
        if self.protocol not in PROTOCOLS:
            raise WrongProtocol(self.protocol)
        on_loopback = all(map(is_loopback, self.hosts))
        if self.protocol not in ENCRYPTED_PROTOCOLS and not (self.allow_plain or on_loopback):
            raise PlainAddress("kafka.protocol", self.protocol, f"Use one of {', '.join(ENCRYPTED_PROTOCOLS)}")


@dataclass(frozen=True)
class Postgres:
    """How Postgres is reached. `sslrootcert` is the file of the certificate authority; empty: those of the system.
    Each role's password is in a file of its own in the secrets folder."""

    host: str = ""
    port: int = 5432
    sslmode: str = "verify-full"
    sslrootcert: str = ""
    allow_plain: bool = False

    def parameters(self) -> dict[str, str]:
        """libpq's parameters of the connection but for database and role."""
        encrypted = {"sslrootcert": self.sslrootcert or "system"} if self.sslmode in ENCRYPTED else {}
        return {"host": self.host, "port": str(self.port), "sslmode": self.sslmode, **encrypted}

    def check(self) -> None:
        """Raises PlainAddress."""
        if self.sslmode not in ENCRYPTED and not (self.allow_plain or is_loopback(self.host)):
            raise PlainAddress("postgres.sslmode", self.sslmode, f"Use one of {', '.join(ENCRYPTED)}")


@dataclass(frozen=True)
class Spark:
    """How a cluster of Spark's standalone manager is reached: `master` by Spark itself (spark://A:7077,B:7077), `rest`
    and `ui` by the control plane, one of each for each master. `python`: the path of the environment's Python on the
    workers' hosts; "shared": of what `build` put into the shared folder; empty: of that of whoever submits."""

    master: str = ""
    rest: tuple[str, ...] = ()
    ui: tuple[str, ...] = ()
    python: str = ""
    allow_plain: bool = False

    def check(self) -> None:
        """Raises UnevenMasters; PlainAddress: Spark's own submission server speaks no TLS, so it stands behind a proxy
        that does."""
        masters = len(self.master.split(",")) if self.master else 0
        if len({masters, len(self.rest), len(self.ui)}) > 1:
            raise UnevenMasters(masters, len(self.rest), len(self.ui))
        for name, urls in (("spark.rest", self.rest), ("spark.ui", self.ui)):
            _check_urls(name, urls, self.allow_plain)


@dataclass(frozen=True)
class Airflow:
    """Where Airflow's api-server is. `ca` is the file of the certificate authority that it is known by; empty: one that
    everybody knows."""

    url: str = ""
    ca: str = ""
    allow_plain: bool = False

    def check(self) -> None:
        """Raises PlainAddress."""
        _check_urls("airflow.url", [self.url] if self.url else [], self.allow_plain)


@dataclass(frozen=True)
class Places:
    """Where files are kept. `shared`: artifacts and jars, which Spark's hosts must see at the same path; `secrets`:
    password files and keys, on each host those that it needs. Empty: in the state folder. `store`: checkpoints, reports
    and copies of artifacts (`kappa.core.store.places`); empty: in the shared folder, which then every host must see."""

    shared: str = ""
    secrets: str = ""
    store: str = ""
    allow_plain: bool = False

    def check(self) -> None:
        """Raises PlainAddress, also for HDFS, of which nobody here knows whether its site encrypts."""
        store = urlsplit(self.store)
        asked = [url for key, url in parse_qsl(store.query) if key in ("endpoint", "http")]
        _check_urls("places.store", asked + [self.store] * (store.scheme == "hdfs"), self.allow_plain)


DRIVER_PORTS = 20
"""So many drivers of a host can be read side by side."""


@dataclass(frozen=True)
class Metrics:
    """Where metrics are read: at this address the monitor listens on `ports.monitor`, and each driver on the first free
    one of DRIVER_PORTS ports from `first_driver_port` on (0: none does). Whoever reaches it may read them. `url` is
    where the monitor is that the stack did not start; empty: none is asked whether it is there."""

    url: str = ""
    address: str = LOOPBACK
    first_driver_port: int = 19110
    allow_plain: bool = False

    def check(self) -> None:
        """Raises PlainAddress. No address is every address."""
        if not (self.allow_plain or (self.address and is_loopback(self.address))):
            raise PlainAddress("metrics.address", self.address, f'Leave it at "{LOOPBACK}", with a proxy before it')
        _check_urls("metrics.url", [self.url] if self.url else [], self.allow_plain)

    @property
    def host(self) -> str:
        """Where the monitor is asked from its own host."""
        return LOOPBACK if self.address in ("", "0.0.0.0") else self.address

    def monitor_url(self, port: int, embedded: bool) -> str | None:
        """Where the monitor serves; None of an installation elsewhere that does not name its monitor."""
        return self.url or (f"http://{self.host}:{port}" if embedded else None)


def connection_string(parameters: Mapping[str, str]) -> str:
    """These parameters as libpq takes them."""
    return " ".join(f"{name}={_quoted(value)}" for name, value in parameters.items())


def is_loopback(host: str) -> bool:
    """Whether a host's name or address is this machine's own, by which nothing leaves it."""
    if host in ("localhost", ""):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_complete(addresses: dict[str, bool]) -> None:
    """Given by setting whether it is named: all or none are. Raises MissingAddress."""
    missing = [setting for setting, named in addresses.items() if not named]
    if 0 < len(missing) < len(addresses):
        raise MissingAddress([setting for setting in addresses if setting not in missing], missing)


def _host(bootstrap: str, address: str) -> str:
    """The host of one address of Kafka. Raises NoHostAndPort."""
    found = _HOST_AND_PORT.fullmatch(address)
    if found is None or not 0 < int(found["port"]) < 65_536:
        raise NoHostAndPort(bootstrap, address)
    return found["v6"] or found["host"]


def _check_urls(setting: str, urls: Iterable[str], allow_plain: bool) -> None:
    for url in urls:
        parts = urlsplit(url)
        if parts.scheme != "https" and not (allow_plain or is_loopback(parts.hostname or "")):
            raise PlainAddress(setting, url, "Use an https:// address" if parts.scheme == "http" else "Use another one")


def _quoted(value: str) -> str:
    """A value as libpq's connection strings want it: quoted where it has a space, a quote or a backslash."""
    if not set(value) & set(" '\\"):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
