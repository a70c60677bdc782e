"""The forms of the lifecycle DAGs, and how a filled-in form is read."""

from __future__ import annotations

from dataclasses import MISSING
from typing import Any

from airflow.sdk import Param

from kappa.core.requests.fields import Field, Request, filled_in

TYPES = {bool: "boolean", int: "integer"}


def form(request: type[Request]) -> dict[str, Param]:
    """The form of a request: a field for each of its own, with type, range and meaning as JSON schema. It says nothing
    of what there is just now: each change of that would make a new version of the DAG."""
    return {name: _param(field) for name, field in filled_in(request).items()}


def _param(field: Field) -> Param:
    schema: dict[str, Any] = {"title": field.rule.title, "description": described(field), **_schema(field)}
    if section := field.rule.section or ("Rare" if field.rule.rare else ""):
        schema["section"] = section
    shown = {str(word): label for word, label in (field.rule.shown or {}).items()}
    if field.words and field.blank:
        shown["null"] = field.rule.empty
    if shown:
        schema["values_display"] = shown
    opens = field.rule.initial if field.default is MISSING else field.default
    if opens is None and not field.blank:
        return Param(**schema)
    return Param(_plain(opens, field), **schema)


def described(field: Field) -> str:
    """A field's meaning, range, and what nothing stands for."""
    bounds = f" ({field.rule.least} to {field.rule.most})" if field.rule.most is not None else ""
    return field.rule.meaning + (f"; empty: {field.rule.empty}" if field.rule.empty else "") + bounds


def _plain(value: Any, field: Field) -> Any:
    """What a form opens with, in JSON's types."""
    if field.many:
        return [field.rule.text(one) for one in value]
    return None if value == "" and field.blank else str(value) if isinstance(value, str) else value


def _schema(field: Field) -> dict[str, Any]:
    """The JSON schema of a field's values."""
    rule, kind = field.rule, TYPES.get(field.kind, "string")
    limits = {"pattern": rule.pattern or None, "minimum": rule.least, "maximum": rule.most}
    held: dict[str, Any] = {name: value for name, value in limits.items() if value is not None}
    words = [str(word) for word in field.words]
    if field.many:
        items = {"type": kind, **held} | ({"enum": words} if words else {})
        choice = {"uniqueItems": True, "examples": words} if words else {}
        return {"type": "array", "items": items, **({"minItems": 1} if rule.needed else {}), **choice}
    if words:
        held["enum"] = [*([None] if field.blank else []), *words]
    lengths = {"minLength": 1 if rule.needed else None, "maxLength": rule.longest}
    held |= {name: value for name, value in lengths.items() if value is not None}
    return {"type": ["null", kind] if field.blank else kind, **held}
