"""What a field of a request takes: its type, range, default and meaning, and how a filled-in form is read by them.

A request is a frozen dataclass; a field that people fill in is `Annotated[type, Rule]`. From that come a form's field,
the check of what was filled in, and a command's option. A field without a Rule is set by the program only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from types import NoneType
from typing import Annotated, Any, ClassVar, TypeVar, get_args, get_origin, get_type_hints

from kappa.core.job_catalog import JOBS, JobSetting
from kappa.core.refusals import Refusal
from kappa.core.verb_steps import Verb

ALONGSIDE = frozenset({"typed_by"})
"""What a run's parameters have beside the form: who typed the command."""


@dataclass(frozen=True)
class Rule:
    """What a field takes beyond its type, and how people are told.

    `least` and `most` bound a number (both included); `words` are all that a text may be; `pattern` (a regular
    expression) and `longest` (characters) limit one. `needed`: a text says something, a list has an item. `empty` says
    what nothing stands for, `shown` how a form words a choice, `initial` what it opens with where the request itself
    has no default. A `rare` field is folded away. `parse` and `text` turn what is typed into the value and back.
    """

    title: str
    meaning: str
    least: int | None = None
    most: int | None = None
    words: tuple[str, ...] = ()
    pattern: str = ""
    longest: int | None = None
    needed: bool = False
    empty: str = ""
    shown: Mapping[str, str] | None = None
    initial: Any = None
    rare: bool = False
    section: str = ""
    parse: Callable[[str], Any] | None = None
    text: Callable[[Any], str] = str


@dataclass(frozen=True)
class Field:
    """A field of a request: its type apart from None and the list around it, and its default (MISSING: none)."""

    name: str
    kind: Any
    optional: bool
    many: bool
    default: Any
    rule: Rule

    @property
    def blank(self) -> bool:
        """Whether it may be left empty."""
        return self.optional or (self.kind is str and not self.many and self.default == "")

    @property
    def words(self) -> tuple[str, ...]:
        """All that it may be, where that is a choice."""
        if isinstance(self.kind, type) and issubclass(self.kind, StrEnum):
            return tuple(self.kind)
        return self.rule.words


@dataclass(frozen=True)
class Request:
    """What somebody asks of a verb."""

    verb: ClassVar[Verb]


Asked = TypeVar("Asked", bound=Request)


class InvalidField(Refusal):
    """A field of a request has a value that it may not have."""

    def __init__(self, verb: Verb, field: Field, value: object, rule: str) -> None:
        remedy = "Give such a value, or leave it empty" if field.blank else "Give such a value"
        super().__init__(f"{verb}: {field.name}={value!r} is not allowed: {rule}. Nothing was changed. {remedy}.")


class UnknownField(Refusal):
    """A request has no field of that name."""

    def __init__(self, verb: Verb, names: list[str], known: list[str]) -> None:
        super().__init__(
            f"{verb} has no field '{', '.join(names)}'; it has {', '.join(known)}. Nothing was changed. Leave it out."
        )


def declared(request: type[Request]) -> Mapping[str, Field]:
    """The fields of a request that people fill in, by name; the settings are one."""
    hints = get_type_hints(request, include_extras=True)
    found = ((each, hints[each.name]) for each in fields(request))
    return {each.name: _field(each.name, hint, _default(each)) for each, hint in found if get_origin(hint) is Annotated}


def filled_in(request: type[Request]) -> Mapping[str, Field]:
    """The fields of the form by name, in order: those of the request, with a field for each setting."""
    flat: dict[str, Field] = {}
    for name, field in declared(request).items():
        flat |= settings_fields(field.rule) if _is_settings(field) else {name: field}
    return flat


def read(request: type[Asked], given: Mapping[str, Any]) -> Asked:
    """The request that a filled-in form makes; what is left out is as by default.

    Raises InvalidField, UnknownField, and what the field's own `parse` raises.
    """
    form = filled_in(request)
    if unknown := sorted(set(given) - set(form) - ALONGSIDE):
        raise UnknownField(request.verb, unknown, list(form))
    values: dict[str, Any] = {}
    for name, field in declared(request).items():
        if _is_settings(field):
            numbers = {s: checked(request.verb, one, given.get(s)) for s, one in settings_fields(field.rule).items()}
            values[name] = {setting: number for setting, number in numbers.items() if number is not None}
        elif name in given or field.default is MISSING:
            values[name] = checked(request.verb, field, given.get(name))
    return request(**values)


def write(request: Request) -> dict[str, Any]:
    """The form that `read` reads as this request, in JSON's types."""
    form: dict[str, Any] = {}
    for name, field in declared(type(request)).items():
        value = getattr(request, name)
        if _is_settings(field):
            form |= {setting: int(number) for setting, number in value.items()}
        elif field.many:
            form[name] = [field.rule.text(one) for one in value]
        else:
            form[name] = field.rule.text(value) if isinstance(value, str) else value
    return form


def checked(verb: Verb, field: Field, value: Any) -> Any:
    """The value of a field as the request holds it. Raises as `read` does."""
    if value is None or (value == "" and field.kind is str):
        if not field.blank:
            raise InvalidField(verb, field, value, "it must be given")
        return None if field.optional else ""
    if not field.many:
        return _one(verb, field, value)
    if not isinstance(value, list | tuple) or (field.rule.needed and not value):
        raise InvalidField(verb, field, value, "it must be a list" + (" of at least one" if field.rule.needed else ""))
    return tuple(_one(verb, field, one) for one in value)


def catalogued(name: str) -> tuple[JobSetting, ...]:
    """The setting of that name of each job that has it."""
    return tuple(setting for job in JOBS.values() for setting in job.settings if setting.name == name)


def number(name: str, title: str = "", empty: str = "", section: str = "") -> Rule:
    """The rule of a number that is a setting of the catalogue: its meaning, and the bounds of all jobs that have it."""
    known = catalogued(name)
    defaults = sorted({setting.default for setting in known})
    first = f"as it is now, at first {' or '.join(str(default) for default in defaults)}"
    return Rule(
        title or (name[0].upper() + name[1:]).replace("_ms", " (ms)").replace("_mb", " (MB)").replace("_", " "),
        known[0].meaning[0].upper() + known[0].meaning[1:],
        min(setting.least for setting in known),
        max(setting.most for setting in known),
        empty=empty or first,
        section=section,
    )


def settings_fields(rule: Rule) -> dict[str, Field]:
    """A field for each setting of the catalogue: a number, or empty."""
    names = dict.fromkeys(setting.name for job in JOBS.values() for setting in job.settings)
    return {name: Field(name, int, True, False, None, number(name, "", rule.empty, rule.title)) for name in names}


def _is_settings(field: Field) -> bool:
    return get_origin(field.kind) is Mapping


def _default(each: Any) -> Any:
    return each.default if each.default_factory is MISSING else each.default_factory()


def _field(name: str, hint: Any, default: Any) -> Field:
    """A field from `Annotated[type, Rule]`, the type being T, T | None or tuple[T, ...]."""
    kind, rule = get_args(hint)[:2]
    optional = NoneType in get_args(kind)
    kind = next(one for one in get_args(kind) if one is not NoneType) if optional else kind
    many = get_origin(kind) is tuple
    return Field(name, get_args(kind)[0] if many else kind, optional, many, default, rule)


def _one(verb: Verb, field: Field, value: Any) -> Any:
    """One value of a field, checked, in its own type."""
    rule = field.rule
    if field.kind in (bool, int):
        if type(value) is not field.kind:
            raise InvalidField(verb, field, value, "it must be true or false" if field.kind is bool else _range(rule))
        if field.kind is int and not (rule.least or 0) <= value <= (value if rule.most is None else rule.most):
            raise InvalidField(verb, field, value, _range(rule))
        return value
    if not isinstance(value, str):
        raise InvalidField(verb, field, value, "it must be a text")
    if rule.parse is not None:
        return rule.parse(value)
    if field.words and value not in field.words:
        raise InvalidField(verb, field, value, f"it must be one of {', '.join(field.words)}")
    if rule.needed and not value.strip():
        raise InvalidField(verb, field, value, "it must say something")
    if rule.pattern and not re.search(rule.pattern, value):
        raise InvalidField(verb, field, value, f"it must be like this: {rule.meaning}")
    if rule.longest is not None and len(value) > rule.longest:
        raise InvalidField(verb, field, value, f"it must have at most {rule.longest} characters")
    return field.kind(value)


def _range(rule: Rule) -> str:
    return f"it must be a whole number {within(rule)}"


def within(rule: Rule) -> str:
    """The range of a number for people."""
    return f"from {rule.least} on" if rule.most is None else f"from {rule.least} to {rule.most}"
