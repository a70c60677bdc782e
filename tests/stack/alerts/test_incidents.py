"""Which incidents open and end: decided from looks alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kappa.status.causes import READ_FROM_REGISTRY, Cause
from stack.alerts.incidents import Book, Finding, Incident, decide

SILENT = Finding(Cause.SILENT, "ad_ctr v1", "ad_ctr v1 silent: no heartbeat", 90.0)
OTHER = Finding(Cause.SILENT, "client_spend v1", "client_spend v1 silent: no heartbeat", 95.0)
STALLED = Finding(Cause.STALLED, "ad_ctr v1", "ad_ctr v1 stalled: nothing was committed", 80.0)
POSTGRES = Finding(Cause.POSTGRES, "", "postgres does not answer: refused")
RETENTION = Finding(Cause.RETENTION, "ad_ctr v1", "ad_ctr v1 retention: in 3 h the log drops")
Told = list[tuple[float, str, Incident]]


class Story:
    """Looks one after another, five seconds apart from second 100 on."""

    def __init__(self) -> None:
        self.at, self.book = 100.0, Book()

    def go(self, seconds: float, *found: Finding, unknown: Iterable[Cause] = ()) -> Told:
        """The same found at each look of these seconds; what was told, and when."""
        told: Told = []
        until = self.at + seconds
        while self.at < until:
            change = decide(self.book, found, frozenset(unknown), self.at)
            self.book = change.book
            told += [(self.at, "red", each) for each in change.opened]
            told += [(self.at, "over", each) for each in change.over]
            self.at += 5
        return told


def test_what_is_gone_at_once_is_told_to_nobody() -> None:
    story = Story()
    assert story.go(15, SILENT) == []
    assert story.go(100) == []
    assert story.book == Book()


def test_an_incident_is_told_once_and_its_end_once() -> None:
    story = Story()
    ((at, what, incident),) = story.go(600, SILENT)
    assert (at, what, incident.cause, incident.subjects, incident.since) == (
        115, "red", Cause.SILENT, ("ad_ctr v1",), 90.0,
    )  # fmt: skip
    ((at, what, over),) = story.go(600)
    assert (what, over.number, at, over.seen) == ("over", incident.number, 725, 695)


def test_what_nobody_knows_the_beginning_of_began_when_it_was_seen_first() -> None:
    story = Story()
    ((at, _, incident),) = story.go(20, POSTGRES)
    assert (at, incident.since) == (115, 100)


def test_a_clock_that_is_put_back_delays_no_beginning_and_no_end() -> None:
    story = Story()
    story.go(60, SILENT)
    story.go(10, SILENT, OTHER)
    story.at -= 3_600
    assert [what for _, what, _ in story.go(20, SILENT, OTHER)] == ["red"]
    assert [what for _, what, _ in story.go(40)] == ["over", "over"]


def test_what_is_expected_opens_nothing_and_keeps_open_what_was_told() -> None:
    """A run starts a driver: that it is silent is nothing new, and no end of its silence."""
    expected = replace(SILENT, is_expected=True)
    story = Story()
    assert story.go(100, expected) == []
    ((at, what, incident),) = story.go(60, SILENT)
    assert (at, what, incident.subjects) == (215, "red", ("ad_ctr v1",))
    assert story.go(300, expected) == []
    ((_, what, over),) = story.go(60)
    assert (what, over.number) == ("over", incident.number)


def test_what_comes_back_soon_was_never_over() -> None:
    story = Story()
    story.go(60, SILENT)
    told = [each for _ in range(20) for each in (*story.go(25), *story.go(5, SILENT))]
    assert told == []


def test_all_of_a_kind_that_come_together_are_one_incident() -> None:
    """Drivers of one worker do not die in the same second."""
    story = Story()
    story.go(10, SILENT)
    ((_, _, incident),) = story.go(60, SILENT, OTHER)
    assert incident.subjects == ("ad_ctr v1", "client_spend v1")
    assert story.go(300, OTHER) == [], "one of the two still is"
    assert [what for _, what, _ in story.go(60)] == ["over"]


def test_one_that_joins_later_is_an_incident_of_its_own() -> None:
    """Else somebody who has seen to the first would never hear of the second."""
    story = Story()
    story.go(300, SILENT)
    ((_, what, second),) = story.go(60, SILENT, OTHER)
    assert (what, second.subjects) == ("red", ("client_spend v1",))


def test_what_comes_of_each_other_is_one_incident_with_the_newest_words() -> None:
    story = Story()
    story.go(60, SILENT)
    assert story.go(60, STALLED) == []
    assert story.book.open[0].what == (STALLED.what,)
    assert [what for _, what, _ in story.go(60)] == ["over"]


def test_a_part_that_is_away_is_told_and_not_what_comes_of_it() -> None:
    story = Story()
    told = story.go(300, POSTGRES, SILENT, OTHER, STALLED)
    assert [incident.cause for _, _, incident in told] == [Cause.POSTGRES]


def test_what_stays_once_the_part_is_back_is_told() -> None:
    story = Story()
    story.go(300, POSTGRES, SILENT)
    told = story.go(120, SILENT)
    assert [(what, incident.cause) for _, what, incident in told] == [("over", Cause.POSTGRES), ("red", Cause.SILENT)]
    assert told[1][0] - told[0][0] >= 10


def test_what_is_no_symptom_is_told_beside_a_part_that_is_away() -> None:
    told = Story().go(60, POSTGRES, RETENTION)
    assert {incident.cause for _, _, incident in told} == {Cause.POSTGRES, Cause.RETENTION}


def test_what_nobody_can_tell_is_not_over() -> None:
    story = Story()
    story.go(60, RETENTION)
    told = story.go(600, POSTGRES, unknown=READ_FROM_REGISTRY)
    assert [incident.cause for _, _, incident in told] == [Cause.POSTGRES]
    told = story.go(60)
    assert sorted(incident.cause for _, _, incident in told) == [Cause.POSTGRES, Cause.RETENTION]


def test_numbers_are_never_given_twice() -> None:
    story = Story()
    numbers = [incident.number for _ in range(3) for _, what, incident in (*story.go(60, SILENT), *story.go(60))]
    assert numbers == [1, 1, 2, 2, 3, 3]
