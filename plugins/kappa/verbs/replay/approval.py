"""Who may agree to a promotion: nobody answers oneself, and nothing is promoted that was not compared."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kappa.core.refusals import Refusal
from kappa.core.replays import Answer, Replay


class OwnRequest(Refusal):
    """Who asked for a replay would agree to it."""

    def __init__(self, who: str, others: Sequence[str]) -> None:
        super().__init__(
            f"{who} asked for this replay, so somebody else has to answer; nothing was promoted, the question stays "
            f"open. These may: {', '.join(others)}."
        )


class NotValidated(Refusal):
    """No validation has passed the candidates."""

    def __init__(self, replay: Replay) -> None:
        why = "was not validated" if replay.validation is None else "did not pass its validation"
        super().__init__(
            f"the replay of {names(replay)} {why}: only rows that were compared are promoted. Nothing was changed, the "
            f"live versions serve on. See the report, then replay again: ./kappa reprocess {' '.join(replay.versions)}."
        )


class WasRejected(Refusal):
    """Somebody has said no."""

    def __init__(self, replay: Replay) -> None:
        super().__init__(
            f"the replay of {names(replay)} was rejected by {replay.answered_by or 'nobody known'}: a rejection is "
            f"not gone round by hand. Nothing was changed. Replay again, and ask again: ./kappa reprocess "
            f"{' '.join(replay.versions)}."
        )


def answerers(requester: str, users: Collection[str]) -> tuple[str, ...]:
    """Who may answer, by name: all users but the requester; the requester, too, where there is no other."""
    asks = user_of(requester)
    others = tuple(sorted(set(users) - {asks}))
    return others or (asks,)


def check_answerer(requester: str, answerer: str, users: Collection[str]) -> None:
    """Pass when this user may answer. Raises OwnRequest."""
    asks = user_of(requester)
    if user_of(answerer) == asks and (others := sorted(set(users) - {asks})):
        raise OwnRequest(asks, others)


def user_of(actor: str) -> str:
    """The user of Airflow in an actor like `ada as admin`: who typed a command is not proven, the user is."""
    return actor.rpartition(" as ")[2]


def check_promotable(replay: Replay) -> None:
    """Pass when a promotion, by a run or by hand, may follow this replay. Raises NotValidated, WasRejected."""
    if not (replay.validation and replay.validation.get("success")):
        raise NotValidated(replay)
    if replay.answer == Answer.REJECTED:
        raise WasRejected(replay)


def answer_sentence(answer: Answer, answered_by: str | None) -> str:
    """The note of a run that asked."""
    return answer.value if answer is Answer.TIMED_OUT else f"{answer} by {answered_by or 'nobody known'}"


def names(replay: Replay) -> str:
    """The candidates for people."""
    return ", ".join(f"{job} v{version}" for job, version in sorted(replay.versions.items()))
