"""The demo's second half: a wider click interval is replayed, validated, approved, promoted and rolled back."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from rich.console import Group
from rich.markup import escape
from rich.table import Table

from cli import lifecycle_verbs
from cli.approval_prompt import Always, keys
from cli.commands.lifecycle import promote, reprocess, retire
from cli.follow import Outcome
from examples.demo import served
from examples.demo.play import Laid
from examples.demo.served import NOTHING, Served, Totals
from examples.demo.stage import Stage, err, screen
from kappa.core.refusals import Refusal
from kappa.core.replays import Answer, Replay
from kappa.core.requests.reprocessing import ReprocessRequest, band_text, read_band
from kappa.core.validation import Parity
from kappa.core.versions import Version
from kappa.platform import connect
from kappa.verbs.replay.candidate import NoFreeCores
from kappa.verbs.replay.observation import plan_reprocess
from kappa.verbs.replay.price import duration

JOBS = ("ad_ctr", "client_spend")
SETTING, OLD_MS, INTERVAL_MS = "click_interval_ms", 10_000, 30_000
BANDS = ("clicks:down:667", "click_micros:down:667")
"""Where one click per 10 s counted, at most three did in 30 s, and one of them stays: two thirds are the most to go."""
REASON = "demo: one click per 30 s instead of 10 s"
BACK, GONE = "demo: back to one click per 10 s", "demo: it has been shown"
HEAD_START_MS = 30_000
"""How long before the last minute is final the replay begins: candidates take longer than that to read up to here."""
PATIENCE_SECONDS = 180


class OtherRule(Refusal):
    """What serves already counts by another interval than the demo changes."""

    def __init__(self, job: str, version: int, interval_ms: int) -> None:
        names = " ".join(JOBS)
        super().__init__(
            f"{job} v{version} counts one click per {interval_ms / 1000:g} s, and the demo's second half goes from "
            f"{OLD_MS / 1000:g} s to {INTERVAL_MS / 1000:g} s. Nothing was played. If an earlier demo was ended before "
            f"its roll-back: ./kappa rollback {names} --reason TEXT. Without that half: ./kappa demo --first-half."
        )


class NotShown(Refusal):
    """A run of the second half did not end as it should."""

    def __init__(self, outcome: Outcome) -> None:
        names = " ".join(JOBS)
        super().__init__(
            f"{outcome.sentence} The log's numbers were exact before. Why: ./kappa audit --run {outcome.run_id}; what "
            f"serves now: ./kappa releases. If it is the new rule: ./kappa rollback {names} --reason TEXT. Then "
            "./kappa demo can be played again."
        )


class NotTheOldNumbers(Refusal):
    """After the roll-back the minutes hold something else than before the promotion."""

    def __init__(self, before: Totals, after: Totals) -> None:
        super().__init__(
            f"the log's minutes served {dict(before)} before the promotion, and {dict(after)} after the roll-back "
            "(impressions, clicks, micros). See './kappa releases' and './kappa reconcile'."
        )


def check_rule(live: Mapping[str, Version]) -> None:
    """Pass when the rule that serves is the one that is to be changed. Raises OtherRule."""
    for job in JOBS:
        if (interval_ms := live[job].settings[SETTING]) != OLD_MS:
            raise OtherRule(job, live[job].version, interval_ms)


def check_cores(free: int) -> None:
    """Pass when there is a core for each candidate: else that is known before minutes of play, not after. Raises
    NoFreeCores."""
    if free < len(JOBS):
        raise NoFreeCores(JOBS, len(JOBS), free)


def second_half(stage: Stage) -> None:
    """All of it; a replay that somebody rejects ends it early, and well.

    Raises Refusal (the log does not become final), NotShown, NumbersDiffer, NotTheOldNumbers.
    """
    with stage.measured.of("until final"):
        _until_final(stage)
    watch = Served(stage.reader, stage.laid, JOBS[0], err.is_terminal)
    old = watch.note()
    with stage.measured.of("replay to promotion"):
        replay = _replayed(stage, watch)
    stage.check()
    stage.measured.weigh(stage.settings)
    if replay.answer == Answer.REJECTED:
        err.print(f"rejected by {replay.answered_by}: nothing was promoted, and readers see what they saw.")
        return
    _tell_promoted(stage, replay, watch.seen[old], watch.seen[watch.note()])
    before = watch.seen[old]
    with stage.measured.of("roll-back"):
        _passed(promote.rolled_back(stage.settings, JOBS, BACK, (watch,)))
    stage.check()
    _check_back(before, watch.seen[watch.note()])
    err.print("[green]rolled back:[/] the log's minutes serve to the micro what they served before the promotion.")
    with stage.measured.of("retirement"):
        _passed(retire.retired(stage.settings, replay.versions, GONE))


def request(artifact: str) -> ReprocessRequest:
    """What is asked of the replay."""
    return ReprocessRequest(
        JOBS, artifact=artifact, settings={SETTING: INTERVAL_MS}, parity=Parity.DECLARED,
        bands=tuple(read_band(band) for band in BANDS), cores=1, reason=REASON,
    )  # fmt: skip


def typed(asked: ReprocessRequest) -> str:
    """The same as somebody would type it."""
    words = ["./kappa", "reprocess", *asked.jobs, "--from", asked.start]
    words += [word for name, value in asked.settings.items() for word in ("--set", f"{name}={value}")]
    words += ["--parity", asked.parity.value, *(word for b in asked.bands for word in ("--band", band_text(b)))]
    return shlex.join([*words, "--cores", str(asked.cores), "--reason", asked.reason or ""])


def waiting(laid: Laid, now_ms: int, lateness_seconds: float) -> str:
    """Why nothing happens yet, and for how long."""
    left = max((laid.final_ms - HEAD_START_MS - now_ms) / 1000, 0)
    return (
        f"the replay begins in {left:.0f} s: only final minutes are compared, and the log's last one ends at "
        f"{_clock(laid.end_ms)} UTC and is final at {_clock(laid.final_ms)}, since a record counts that comes "
        f"{duration(lateness_seconds)} late, and clocks get a minute"
    )


def changes(before: Totals, after: Totals) -> Table:
    """Clicks and spend of the log's minutes, before and after."""
    table = Table("campaign", title="the log's minutes, by one click per 10 s and per 30 s")
    for name in ("clicks, 10 s", "clicks, 30 s", "fewer", "spend, 10 s", "spend, 30 s"):
        table.add_column(name, justify="right")
    for client in sorted({*before, *after}):
        (_, c, m), (_, d, n) = before.get(client, NOTHING), after.get(client, NOTHING)
        table.add_row(client, f"{c:,}", f"{d:,}", f"{c - d:,}", f"{m / 1e6:,.6f}", f"{n / 1e6:,.6f}")
    return table


def validated(outcome: Mapping[str, Any]) -> str:
    """What the validation compared, and which sums it allowed to differ."""
    found = [f"{c['job']} {_sums(c['figures'])}" for c in outcome.get("comparisons", ())]
    return f"validated: {outcome['compared_rows']:,} rows compared, all within the bands; {'; '.join(found)}"


def _not_final(through_ms: int | None, end_ms: int) -> Refusal:
    known = "of a job nothing is final yet" if through_ms is None else f"final is all up to {_clock(through_ms)}"
    return Refusal(
        f"the log's minutes end at {_clock(end_ms)} UTC and should be final by now, but {known}. Nothing was "
        "replayed; the numbers of the first half stand. See './kappa status', then play again: ./kappa demo."
    )


def _until_final(stage: Stage) -> None:
    """Wait for the log's last minute, nearly. Raises Refusal when its minutes do not become final."""
    laid = stage.laid
    lateness = (laid.final_ms - laid.end_ms) / 1000 - 60
    with screen() as shown:
        while (through := served.final_through_ms(stage.reader, JOBS)) is None or through < laid.end_ms - HEAD_START_MS:
            now_ms = time.time_ns() // 1_000_000
            if now_ms > laid.final_ms + PATIENCE_SECONDS * 1000:
                raise _not_final(through, laid.end_ms)
            words, totals = waiting(laid, now_ms, lateness), stage.played()
            shown.show(Group(served.numbers(totals, stage.expected), served.freshness(stage.reader), words), words)
            time.sleep(0.5)


def _replayed(stage: Stage, watch: Served) -> Replay:
    """The replay, once it was promoted or rejected. Raises NotShown."""
    asked, platform = request(lifecycle_verbs.digest(stage.settings, "")), connect(stage.settings)
    price = plan_reprocess(platform, asked).price
    err.print(f"now with one click per 30 s:\n  {typed(asked)}", markup=False)
    err.print("  price: " + ", ".join(f"{name} {value}" for name, value in price.rows()), markup=False)
    with keys() as pressed:
        alone = stage.yes or not pressed.there
        err.print(f"  approval: {'the demo gives it by itself' if alone else 'yours, by a key, when it is asked for'}")
        reached = reprocess.followed(stage.settings, asked, Always("a") if alone else pressed, (watch,))
    replay = platform.releases.replay_of_run(reached[0].run_id)
    if replay is None or replay.answer != Answer.REJECTED:
        _passed(reached)
    if replay is None:
        raise NotShown(reached[0])
    return replay


def _passed(reached: Iterable[Outcome]) -> None:
    """Tell how runs ended, and pass when they ended well. Raises NotShown."""
    for outcome in reached:
        if not outcome.success:
            raise NotShown(outcome)
        err.print(f"[green]done:[/] {escape(outcome.sentence)}")


def _tell_promoted(stage: Stage, replay: Replay, before: Totals, after: Totals) -> None:
    outcome = replay.validation or {}
    err.print(validated(outcome), markup=False)
    report = stage.settings.shared / str(outcome.get("folder", "")) / "report.html"
    err.print(f"approved by {replay.answered_by or 'nobody, as policy says'}; the report: {report.as_uri()}")
    err.print(changes(before, after))
    err.print("[green]equal:[/] the log's own numbers are still exact in both views: it has no click that this drops.")


def _check_back(before: Totals, after: Totals) -> None:
    if dict(before) != dict(after):
        raise NotTheOldNumbers(before, after)


def _sums(figures: Mapping[str, Any]) -> str:
    names = ("clicks", "click_micros")
    sums = [(name, int(figures[f"live_{name}"] or 0), int(figures[f"candidate_{name}"] or 0)) for name in names]
    return ", ".join(f"{name} {live:,} -> {candidate:,}" for name, live, candidate in sums)


def _clock(epoch_ms: int) -> str:
    return f"{datetime.fromtimestamp(epoch_ms / 1000, UTC):%H:%M:%S}"
