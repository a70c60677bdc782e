"""A run that waits for an answer: where it is given is said, and a key press gives it as one who may."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from cli.approval_prompt import Always, Keys, Questions
from kappa.airflow_api import Airflow, Run, Seen
from kappa.airflow_sign_in import SignedIn, embedded
from kappa.core.installation.settings import Settings
from stack.services import passwords

RUN = Run("reprocess_stream", "run-1", "ad_ctr")
WAITING = Seen("running", {"plan": "success", "approve": "awaiting_input"})
PATH = "/api/v2/dags/reprocess_stream/dagRuns/run-1"
PAGE = "/dags/reprocess_stream/runs/run-1/tasks/approve/required_actions"


class FakeKeys(Keys):
    """Keys that were pressed, in order; what was pressed before the question is dropped."""

    def __init__(self, *pressed: str) -> None:
        super().__init__(0)
        self.waiting: list[str] = []
        self.later = list(pressed)

    def forget(self) -> None:
        self.waiting.clear()

    def pressed(self) -> str | None:
        self.waiting += self.later[:1]
        self.later = self.later[1:]
        return self.waiting.pop(0) if self.waiting else None


class Server:
    """Airflow with one open question; each answer as (user, options)."""

    def __init__(self, refuses: bool = False) -> None:
        self.refuses = refuses
        self.answers: list[tuple[str, list[str]]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/auth/token":
            return httpx.Response(201, json={"access_token": json.loads(request.content)["username"]})
        if request.method == "GET" and request.url.path == f"{PATH}/hitlDetails":
            return httpx.Response(200, json={"hitl_details": self._questions()})
        assert (request.method, request.url.path) == ("PATCH", f"{PATH}/taskInstances/approve/-1/hitlDetails")
        if self.refuses:
            return httpx.Response(403, json={"detail": "Forbidden"})
        user = request.headers["Authorization"].removeprefix("Bearer ")
        self.answers.append((user, json.loads(request.content)["chosen_options"]))
        return httpx.Response(200, json={})

    def _questions(self) -> list[dict[str, Any]]:
        answered = {"task_instance": {"task_id": "earlier", "map_index": -1}, "response_received": True}
        asked = {"task_instance": {"task_id": "approve", "map_index": -1}, "response_received": bool(self.answers)}
        return [answered, asked]


Sessions = Callable[[Server], Callable[[str | None], Airflow]]


@pytest.fixture
def sign_in(tmp_path: Path) -> Sessions:
    """Sessions with a server, of the embedded stack's users; `operator` asked for the run."""
    settings = Settings(home=tmp_path)
    passwords.make(settings)
    return lambda server: lambda user: Airflow(embedded(settings, user or "operator"), httpx.MockTransport(server))


def test_nothing_is_asked_of_airflow_before_a_task_waits(sign_in: Sessions) -> None:
    def never(user: str | None) -> Airflow:
        raise AssertionError(user)

    assert Questions(never, Keys(None)).look(RUN, Seen("running", {"catch_up": "deferred"})) is None


def test_without_a_terminal_it_is_said_who_answers_where(sign_in: Sessions) -> None:
    server = Server()
    said = Questions(sign_in(server), Keys(None)).look(RUN, WAITING)
    page = f"{sign_in(server)(None).page(RUN)}/tasks/approve/required_actions"
    assert said == (
        f"waits to be approved or rejected by somebody else than operator, who asked: at {page}, signed in as approver"
    )
    assert server.answers == []


@pytest.mark.parametrize(("key", "option"), [("a", "Approve"), ("r", "Reject")])
def test_a_key_press_answers_once_as_one_who_may(sign_in: Sessions, key: str, option: str) -> None:
    server, keys = Server(), FakeKeys("x", key, key)
    watch = Questions(sign_in(server), keys)
    offered = [watch.look(RUN, WAITING) for _ in range(4)]
    assert offered[0] is not None
    assert offered[0].endswith("or here, as approver: press a to approve, r to reject")
    assert offered[-1] == f"answered as approver: {option}"
    assert server.answers == [("approver", [option])]


def test_a_task_that_was_run_again_after_it_had_asked_is_answered_too(sign_in: Sessions) -> None:
    again = Seen("running", {"catch_up": "success", "approve": "deferred"})
    assert Questions(sign_in(Server()), Always("a")).look(RUN, again) == "answered as approver: Approve"


def test_who_always_presses_answers_at_once_as_one_who_may(sign_in: Sessions) -> None:
    server = Server()
    assert Questions(sign_in(server), Always("a")).look(RUN, WAITING) == "answered as approver: Approve"
    assert server.answers == [("approver", ["Approve"])]


def test_who_asked_as_the_approver_is_answered_by_the_operator(sign_in: Sessions) -> None:
    server = Server()
    sessions = sign_in(server)
    watch = Questions(lambda user: sessions(user or "approver"), Always("a"))
    assert watch.look(RUN, WAITING) == "answered as operator: Approve"


def test_a_key_that_was_pressed_before_the_question_is_no_answer(sign_in: Sessions) -> None:
    server, keys = Server(), FakeKeys()
    keys.waiting = ["a"]
    Questions(sign_in(server), keys).look(RUN, WAITING)
    assert server.answers == []


def test_on_an_airflow_of_somebody_else_another_person_answers_on_the_page(tmp_path: Path) -> None:
    server, settings = Server(), Settings(home=tmp_path)
    ada = SignedIn(settings.airflow_url, "ada", token="hers")

    def sessions(user: str | None) -> Airflow:
        return Airflow(ada if user is None else embedded(settings, user), httpx.MockTransport(server))

    watch = Questions(sessions, FakeKeys("a"))
    said = watch.look(RUN, WAITING)
    assert said is not None
    assert "by somebody else than ada, who asked: at http://" in said
    assert said.endswith(f"{PAGE}, signed in as another person")
    watch.look(RUN, WAITING)
    assert server.answers == []


def test_a_refused_answer_is_shown_and_the_question_stays(sign_in: Sessions) -> None:
    server = Server(refuses=True)
    watch = Questions(sign_in(server), FakeKeys("a"))
    said = [watch.look(RUN, WAITING) for _ in range(2)][-1]
    assert said == "Airflow refused the answer (403): Forbidden"
    assert server.answers == []


def test_after_the_answer_nothing_more_is_said(sign_in: Sessions) -> None:
    watch = Questions(sign_in(Server()), FakeKeys("a"))
    watch.look(RUN, WAITING)
    assert watch.look(RUN, Seen("running", {"approve": "success", "promote": "running"})) is None
