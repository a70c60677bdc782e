"""The report as a page."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

from gate.findings import Comparison, Finding, Severity, Verdict
from gate.page import render

from kappa.core.validation import Parity, Request, Subject
from tests.great_expectations.gate.desk import MINUTE, NOON

EVIL = "<script>alert('x')</script>&\""
SUBJECT = Subject("ad_ctr", "ad_ctr_minute", ("ad_id",), ("clicks",), MINUTE, 2, 1, None, None, NOON, NOON)
BRIEF = Request("replay", "run", EVIL, EVIL, "url", Parity.EXACT, (), (SUBJECT,))
FOUND = Finding("ad_ctr_minute", "parity", "they are equal", Severity.BLOCK, False, EVIL, 1, ({EVIL: EVIL},))
MET = replace(FOUND, success=True, rows=(), observed="as expected")
COMPARED = Comparison(
    "ad_ctr", 1, 2, None, NOON, 3, {"live_rows": 3, "candidate_rows": 3, "live_clicks": 10, "candidate_clicks": 9}
)


class Seen(HTMLParser):
    """The elements and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += f"{data}\n"


def test_what_came_from_elsewhere_is_escaped() -> None:
    seen = Seen(render(BRIEF, Verdict((FOUND,), (COMPARED,), 1.0)))
    assert "script" not in seen.tags
    assert seen.text.count(EVIL) == 6


def test_the_verdict_comes_first_then_what_was_compared_then_what_is_wrong() -> None:
    text = Seen(render(BRIEF, Verdict((MET, FOUND), (COMPARED,), 1.0))).text
    places = [text.index(part) for part in ("Failed: not to be promoted", "Compared: ad_ctr", "Found:", "Suite")]
    assert places == sorted(places)
    assert "-1 (-10.000%)" in text


def test_of_the_measures_only_those_that_differ_are_shown() -> None:
    row = {"ad_id": "x", "live_clicks": 1, "candidate_clicks": 2, "live_impressions": 7, "candidate_impressions": 7}
    text = Seen(render(BRIEF, Verdict((replace(FOUND, rows=(row,)),), (), 1.0))).text
    assert "candidate_clicks" in text
    assert "impressions" not in text


def test_a_crash_is_told_apart_from_a_failure() -> None:
    crashed = replace(MET, success=False, severity=Severity.WARN, problem="relation is gone")
    text = Seen(render(BRIEF, Verdict((crashed,), (COMPARED,), 1.0))).text
    assert "Crashed: not validated" in text
    assert "relation is gone" in text


def test_a_job_of_which_nothing_was_compared_makes_the_verdict_fail() -> None:
    assert Verdict((MET,), (COMPARED,), 1.0).success
    assert not Verdict((MET,), (COMPARED, replace(COMPARED, compared=0)), 1.0).success
    assert not Verdict((MET,), (), 1.0).success
    assert not Verdict((), (COMPARED,), 1.0).success
    assert not Verdict((replace(MET, severity=Severity.WARN, problem="x"),), (COMPARED,), 1.0).success
