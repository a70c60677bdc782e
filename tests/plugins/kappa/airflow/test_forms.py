"""One request for each verb: the form, what a run reads of it, and the command have the same fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast, get_origin

import pytest
import typer
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk.definitions.param import ParamsDict
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.commands.lifecycle import deploy, promote, repair, reprocess, rescale, retire
from kappa.airflow.forms import form
from kappa.core.requests import lifecycle, reprocessing
from kappa.core.requests.fields import (
    Field,
    InvalidField,
    Request,
    UnknownField,
    declared,
    filled_in,
    read,
    settings_fields,
    write,
)
from kappa.core.requests.lifecycle import (
    AutoscaleRequest,
    DeployRequest,
    PromoteRequest,
    RepairRequest,
    RescaleRequest,
    RetireRequest,
    RollbackRequest,
    StopRequest,
    ValidateRequest,
)
from kappa.core.requests.reprocessing import ProveRequest, ReprocessRequest
from kappa.core.validation import Band, Direction

DAGS = Path(__file__).resolve().parents[4] / "dags"


@dataclass(frozen=True)
class Command:
    """A command of a verb: its function, which of its options stands for which field under another name, the fields
    that it does not have, and the options that it alone has."""

    function: Callable[..., None]
    named: Mapping[str, str] = field(default_factory=dict)
    lacks: frozenset[str] = frozenset()
    alone: frozenset[str] = frozenset({"as_json"})


IN_PLACE = frozenset({"as_json", "in_place"})
REPAIRS = frozenset({"as_json", "without_airflow", "checkpoint"})
PARSED = {"version"}
"""Written like 2 or v2."""
REPLAY = {"settings": "given", "bands": "band", "approval": "approve"}
WAIT = {"when_held": "wait"}
COMMANDS: dict[type[Request], tuple[Command, ...]] = {
    DeployRequest: (Command(deploy.deploy, WAIT | {"job": "jobs", "settings": "given"}),),
    StopRequest: (Command(deploy.stop, WAIT | {"job": "jobs"}, alone=IN_PLACE),),
    RescaleRequest: (Command(rescale.rescale, WAIT, alone=frozenset({"as_json", "advised"})),),
    AutoscaleRequest: (),
    RepairRequest: (Command(repair.repair, {"job": "jobs"}, alone=REPAIRS),),
    PromoteRequest: (Command(promote.promote, WAIT, alone=frozenset({"as_json", "user"})),),
    RollbackRequest: (Command(promote.rollback, WAIT, alone=IN_PLACE),),
    RetireRequest: (Command(retire.retire),),
    ReprocessRequest: (Command(reprocess.reprocess, WAIT | REPLAY),),
    ProveRequest: (),
    ValidateRequest: (),
}
REQUESTS = [
    kind
    for kind in (vars(lifecycle) | vars(reprocessing)).values()
    if isinstance(kind, type) and issubclass(kind, Request) and kind is not Request
]


@pytest.fixture(scope="module")
def bag() -> DagBag:
    return DagBag(str(DAGS), safe_mode=False)


@pytest.mark.parametrize("request_type", REQUESTS)
def test_the_form_of_a_verb_has_the_fields_of_its_request(bag: DagBag, request_type: type[Request]) -> None:
    params = bag.dags[request_type.verb.dag_id].params
    assert list(params) == list(filled_in(request_type))
    for name, asked in filled_in(request_type).items():
        schema = params.get_param(name).schema
        one = schema["items"] if asked.many else schema
        assert (one.get("minimum"), one.get("maximum")) == (asked.rule.least, asked.rule.most)
        assert asked.rule.meaning in str(params.get_param(name).description)


@pytest.mark.parametrize(
    ("request_type", "command"), [(kind, command) for kind, commands in COMMANDS.items() for command in commands]
)
def test_the_command_of_a_verb_has_the_fields_of_its_request(request_type: type[Request], command: Command) -> None:
    app = typer.Typer(add_completion=False)
    app.command()(command.function)
    told: Any = typer.main.get_command(app)
    options = {option.name: option for option in told.params}
    fields = {command.named.get(name, name): asked for name, asked in declared(request_type).items()}
    assert set(options) == ({*fields} - command.lacks) | command.alone
    for name, asked in fields.items():
        if name in options and asked.kind is int and name not in PARSED:
            assert (options[name].min, options[name].max) == (asked.rule.least, asked.rule.most)


def test_every_verb_is_compared() -> None:
    assert set(COMMANDS) == set(REQUESTS)


def values(asked: Field) -> st.SearchStrategy[Any]:
    """Whatever a field of a request may hold."""
    rule, one = asked.rule, cast("st.SearchStrategy[Any]", st.nothing())
    if asked.kind is Band:
        column, most = st.sampled_from(["clicks", "spend_micros"]), st.none() | st.integers(0, 10_000)
        return st.lists(st.builds(Band, column, st.sampled_from(Direction), most)).map(tuple)
    if get_origin(asked.kind) is Mapping:
        each = {name: values(one) for name, one in settings_fields(rule).items()}
        return st.fixed_dictionaries({}, optional=each).map(given_ones)
    if asked.kind is bool:
        one = st.booleans()
    elif asked.kind is int:
        one = st.integers(rule.least, rule.most)
    elif asked.words:
        one = st.sampled_from([asked.kind(word) for word in asked.words])
    else:
        one = (
            st.from_regex(rule.pattern, fullmatch=True) if rule.pattern else st.text(min_size=1, max_size=rule.longest)
        )
    if asked.many:
        return st.lists(one, min_size=1, unique=True).map(tuple)
    return st.none() | one if asked.optional else one


def given_ones(drawn: Mapping[str, Any]) -> dict[str, Any]:
    """Without what stays as it is."""
    return {name: value for name, value in drawn.items() if value is not None}


@pytest.mark.parametrize("request_type", REQUESTS)
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_a_request_is_read_from_its_form_as_it_was_written(request_type: type[Request], data: st.DataObject) -> None:
    drawn = {name: data.draw(values(asked), name) for name, asked in declared(request_type).items()}
    request = request_type(**drawn)
    filled = ParamsDict({**form(request_type)}, suppress_exception=False)
    filled.update(write(request))
    assert read(request_type, filled.validate()) == request


@pytest.mark.parametrize(
    ("filled", "told"),
    [
        ({"job": "ad_ctr", "cores": 99}, "rescale: cores=99 is not allowed: it must be a whole number from 1 to 64."),
        ({"job": "ad_ctr", "cores": True}, "rescale: cores=True is not allowed: it must be a whole number from 1 to"),
        ({"job": "ad_crt"}, "rescale: job='ad_crt' is not allowed: it must be one of ad_ctr, client_spend, quarantine"),
        ({"job": None}, "rescale: job=None is not allowed: it must be given. Nothing was changed. Give such a value."),
        ({"job": "ad_ctr", "dry_run": "no"}, "rescale: dry_run='no' is not allowed: it must be true or false."),
        ({"job": "ad_ctr", "reason": "x" * 1001}, "it must have at most 1000 characters. Nothing was changed."),
    ],
)
def test_what_a_field_may_not_hold_is_refused_by_name_value_and_rule(filled: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidField) as refused:
        read(RescaleRequest, filled)
    assert told in str(refused.value)


def test_a_needed_text_says_something() -> None:
    with pytest.raises(InvalidField, match="rollback: reason=' ' is not allowed: it must say something"):
        read(RollbackRequest, {"jobs": ["ad_ctr"], "reason": " "})


def test_a_field_that_a_request_has_not_is_refused_and_not_passed_over() -> None:
    with pytest.raises(
        UnknownField, match="rescale has no field 'executor_cores'; it has job, partitions, cores, executors"
    ):
        read(RescaleRequest, {"job": "ad_ctr", "executor_cores": 3, "typed_by": "ada"})


def test_a_choice_that_may_stay_open_says_what_that_means() -> None:
    """Airflow would show `null`."""
    shown = form(ReprocessRequest)["approval"].schema
    assert None in shown["enum"]
    assert shown["values_display"]["null"] == "as the policy says"
