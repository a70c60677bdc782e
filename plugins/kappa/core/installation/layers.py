"""Reads settings from a TOML file and from the environment into typed sections; each name and type is checked."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from kappa.core.refusals import Refusal

PREFIX = "KAPPA__"
"""`KAPPA__POSTGRES__HOST` is the setting `postgres.host`, `KAPPA__DATABASE` the setting `database`."""

BESIDE = "./"
"""Begins a path that is taken from the folder of the settings file."""

GIVEN = "KAPPA_GIVEN__"
"""As PREFIX, of what starts a process on another host: it counts less than that host's own file."""

Section = TypeVar("Section")


class UnknownSetting(Refusal):
    """The settings name something that does not exist."""

    def __init__(self, source: object, name: str, known: list[str]) -> None:
        super().__init__(f"{source}: unknown setting '{name}'; known are {', '.join(known)}. Correct or remove it.")


class InvalidSetting(Refusal):
    """A setting has a value of the wrong type, or its file cannot be read as TOML."""

    def __init__(self, source: object, name: str, problem: str) -> None:
        super().__init__(f"{source}: setting '{name}' {problem}. Correct it.")


def of_file(file: Path) -> dict[str, Any]:
    """What a file says; nothing where there is none. A text that begins with `./` is a path from the file's folder on.
    Raises InvalidSetting."""
    try:
        return _placed(tomllib.loads(file.read_text()), file.absolute().parent) if file.exists() else {}
    except tomllib.TOMLDecodeError as error:
        raise InvalidSetting(file, "(file)", f"cannot be read: {error}") from error


def _placed(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    def placed(value: Any) -> Any:
        if isinstance(value, dict):
            return _placed(value, folder)
        return str(folder / value) if isinstance(value, str) and value.startswith(BESIDE) else value

    return {name: placed(value) for name, value in values.items()}


def of_environment(environment: Mapping[str, str], prefix: str = PREFIX) -> dict[str, Any]:
    """What the variables with this prefix say, in tables as a file has them. Numbers, `true`, `false` and [lists] are
    written as in TOML; anything else is text, without quotes."""
    found: dict[str, Any] = {}
    for variable, text in environment.items():
        if variable.startswith(prefix):
            *tables, name = variable.removeprefix(prefix).lower().split("__")
            table = found
            for each in tables:
                table = table.setdefault(each, {})
            table[name] = _scalar(text)
    return found


def to_environment(section: object, default: object, prefix: str) -> dict[str, str]:
    """The variables that `of_environment` reads this section from: of each setting that is not as by default."""
    found: dict[str, str] = {}
    for each in fields(section):  # type: ignore[arg-type]
        value, usual = getattr(section, each.name), getattr(default, each.name)
        if hasattr(value, "__dataclass_fields__"):
            found |= to_environment(value, usual, f"{prefix}{each.name.upper()}__")
        elif value != usual:
            found[f"{prefix}{each.name.upper()}"] = json.dumps(value)
    return found


def build(source: object, kind: type[Section], values: Mapping[str, Any], onto: Section, prefix: str = "") -> Section:
    """A section like `onto`, but for what the values say. `source` names them in errors. Raises UnknownSetting,
    InvalidSetting."""
    known = [field.name for field in fields(kind) if prefix or field.name != "home"]  # type: ignore[arg-type]
    built = {name: getattr(onto, name) for name in (*known, *([] if prefix else ["home"]))}
    for name, value in values.items():
        if name not in known:
            raise UnknownSetting(source, prefix + name, [prefix + each for each in known])
        built[name] = _value(source, prefix + name, built[name], value)
    return kind(**built)


def _value(source: object, name: str, before: Any, value: Any) -> Any:
    """One checked value: a nested section, a list of texts, or a scalar of the type that it has by default."""
    if hasattr(before, "__dataclass_fields__"):
        if not isinstance(value, dict):
            raise InvalidSetting(source, name, f"must be a table [{name}], not {value!r}")
        return build(source, type(before), value, before, f"{name}.")
    if isinstance(before, tuple):
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise InvalidSetting(source, name, f"must be a list of texts, not {value!r}")
        return tuple(value)
    if type(value) is not type(before):
        raise InvalidSetting(source, name, f"must be {type(before).__name__}, not {value!r}")
    return value


def _scalar(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
