"""Who may agree to a promotion: nobody answers oneself, and nothing is promoted that was not compared."""

from __future__ import annotations

from datetime import datetime

from kappa.core.refusals import Refusal
from kappa.core.replays import Answer, Replay


class OwnRequest(Refusal):
    """Who asked for a replay would agree to it."""

    def __init__(self, replay: Replay, who: str) -> None:
        jobs = " ".join(sorted(replay.versions))
        super().__init__(
            f"{replay.asked_by} asked for the replay of {names(replay)}, and {who} would approve it: somebody else has "
            "to agree. Nothing was promoted. Another person who may answer in Airflow does so on the page of the run, "
            f"or by ./kappa login --user NAME and ./kappa promote {jobs} --reason TEXT; on the embedded stack by "
            f"./kappa promote {jobs} --as approver --reason TEXT."
        )


class RunIsOlder(Refusal):
    """A run that was cleared would promote a replay whose validation nobody knew when it was asked for."""

    def __init__(self, replay: Replay, asked_at: datetime) -> None:
        validated = replay.begun_at is None or asked_at >= replay.begun_at
        super().__init__(
            f"this run was asked for at {asked_at:%Y-%m-%dT%H:%M:%SZ}, before the replay of {names(replay)} "
            f"{'was validated' if validated else 'began'}, so who asked for it did not agree to that. Nothing was "
            f"promoted. Start a new run: ./kappa promote {' '.join(sorted(replay.versions))} --reason TEXT."
        )


class NobodyAnswered(Refusal):
    """Airflow does not say whose an approval is."""

    def __init__(self, replay: Replay) -> None:
        super().__init__(
            f"Airflow does not say who approved the replay of {names(replay)}, so it may be who asked for it. Nothing "
            "was promoted. Answer as a person who has signed in."
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


def check_asked(replay: Replay, asked_at: datetime | None) -> None:
    """Pass when a run that was asked for then may be meant for the replay, and for what its validation found; at any
    time, without Airflow (None). Raises RunIsOlder."""
    if asked_at is not None and any(known and asked_at < known for known in (replay.begun_at, replay.validated_at)):
        raise RunIsOlder(replay, asked_at)


def check_approver(replay: Replay, who: str | None) -> None:
    """Pass when this user may approve the replay, whatever Airflow lets him do. Raises OwnRequest, NobodyAnswered."""
    if not who:
        raise NobodyAnswered(replay)
    if user_of(who) == user_of(replay.asked_by):
        raise OwnRequest(replay, who)


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
