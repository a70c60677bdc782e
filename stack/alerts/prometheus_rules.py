"""Makes observability/prometheus/rules.yml, the alert rules, of the closed list of causes: `python -m` this module
prints it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from kappa.status.causes import MEANINGS, SYMPTOMS, Cause, Meaning
from stack.alerts.findings import WHILE_CHANGED
from stack.alerts.part_restarts import MINUTES, MOST

HEAD = """\
# Alerts of Kappa Ads for Prometheus. Made by stack/alerts/prometheus_rules.py of the causes in
# plugins/kappa/status/causes.py. What they must do is rules_test.yml beside it: promtool test rules rules_test.yml
groups:
  - name: kappa
    rules:
"""
NOT_EXPECTED = "unless on (cause, of) kappa_red_lines_expected > 0"
"""What a start does is no alert, as it is no message."""
NO_PART_AWAY = "unless on () (kappa_part_up == 0)"
"""Of streams that stand still because a part is away nobody needs to be told beside that."""


@dataclass(frozen=True)
class Rule:
    """When an alert fires: its expression, and for how long that must hold."""

    expression: str
    lasts: str = "15s"


MONITOR = Meaning(
    "nobody watches", "None yet. But nobody would be told.", "process NAME is STATE", "./kappa up",
    elsewhere="./kappa alerts run",
)  # fmt: skip
"""Prometheus alone can tell that the monitor is away."""
MONITOR_RULE = Rule('absent(kappa_registry_up) or on () up{job="kappa"} == 0', "1m")
RESTARTS = Meaning(
    "a part ends again and again", "What that part does is missing for them each time, until it works again.",
    "process NAME is STATE", "./kappa status",
)  # fmt: skip
RESTARTS_RULE = Rule(f"changes(kappa_process_start_timestamp_seconds[{MINUTES}m]) >= {MOST}")
"""The monitor tells it under the cause of the part, see stack/alerts/part_restarts.py."""
OWN_RULES = {
    Cause.POSTGRES: Rule('kappa_part_up{part="postgres"} == 0'),
    Cause.KAFKA: Rule('kappa_part_up{part="kafka"} == 0'),
    Cause.DISK: Rule("kappa_disk_free_bytes < kappa_disk_wanted_bytes"),
    Cause.CLOCK: Rule("abs(kappa_clock_ahead_seconds) > 30 or kappa_newest_append_ahead_seconds > 30", "1m"),
    Cause.CONSERVATION: Rule("kappa_accounting_residual_records != 0"),
    Cause.APPROVAL: Rule('kappa_replays{phase="waiting for an answer"} > 0'),
    Cause.BACKLOG: Rule(
        "min_over_time(kappa_lag_seconds[10m]) > 60 and deriv(kappa_lag_records[10m]) > 0 "
        "and kappa_version_serves == 1 and kappa_lag_records offset 10m >= 0",
    ),
}
"""What has a metric of its own; all else is a red line."""


def rule(cause: Cause) -> Rule:
    """When the alert of a cause fires."""
    found = OWN_RULES.get(cause) or Rule(f'kappa_red_lines{{cause="{cause}"}} > 0')
    if cause in WHILE_CHANGED:
        found = Rule(f"({found.expression} {NOT_EXPECTED})", found.lasts)
    return Rule(f"({found.expression}) {NO_PART_AWAY}", found.lasts) if cause in SYMPTOMS else found


def file() -> str:
    """The whole file."""
    rules = [_yaml(cause, rule(cause), MEANINGS[cause]) for cause in Cause]
    return "".join([HEAD, _yaml("monitor", MONITOR_RULE, MONITOR), _yaml("restarts", RESTARTS_RULE, RESTARTS), *rules])


def alert_name(cause: str) -> str:
    """What the alert of a cause is called."""
    return "Kappa" + "".join(word.capitalize() for word in cause.split("_"))


def _yaml(cause: str, found: Rule, meaning: Meaning) -> str:
    about = "{{ with $labels.job_name }}: {{ . }}{{ end }}{{ with $labels.of }}: {{ . }}{{ end }}"
    about += "{{ with $labels.process }}: {{ . }}{{ end }}"
    told = {
        "summary": f"{meaning.title}{about}",
        "readers": meaning.readers,
        "runbook": f'docs/runbook.md, "{meaning.runbook}"',
        "next": "; elsewhere ".join(filter(None, [meaning.next, meaning.elsewhere])).replace("{job}", "JOB"),
    }
    lines = [
        f"- alert: {alert_name(cause)}",
        f"  expr: {json.dumps(found.expression)}",
        f"  for: {found.lasts}",
        f"  labels: {{cause: {cause}, severity: {'page' if meaning.urgent else 'ticket'}}}",
        "  annotations:",
        *(f"    {name}: {json.dumps(text)}" for name, text in told.items()),
    ]
    return "".join(f"      {line}\n" for line in lines)


if __name__ == "__main__":
    print(file(), end="")
