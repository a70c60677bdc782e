"""Makes docs/metrics.md of the closed list of metrics: `python -m` this module prints it."""

from __future__ import annotations

from kappa.core.installation.addresses import DRIVER_PORTS
from kappa.core.metrics import METRICS, Metric, Source

PAGE = """\
# Metrics

What Prometheus can read of an installation. The list is closed: it is `plugins/kappa/core/metrics.py`, of which this
page is made (`.venv/bin/python -m stack.monitor.metrics_page > docs/metrics.md`, with `.` and `plugins` on PYTHONPATH).

`curl http://127.0.0.1:19100/metrics` reads them from the process `monitor`, which `./kappa up` starts; elsewhere
`./kappa alerts run` does. It asks Postgres and the broker at most every 5 s, however many scrape, and answers while
either is away: `kappa_registry_up` is 0 then, and what would be read from the registry is not told. Nor are versions
that are retired. Airflow is not needed. Nobody signs in, so it listens on loopback; elsewhere only if `[metrics]` says
`allow_plain = true` ([settings](settings.md)).

[`observability/`](../observability/README.md) has rules for alerts, a configuration of Prometheus and a dashboard for
Grafana.

## Of the installation

{stack}
## Of a driver

Each driver serves its own, on its own host, on the first free one of {ports} ports from `metrics.first_driver_port`
(19110) on; 0 switches that off. It tells what only the driver knows, also while Postgres is away.

{driver}"""
HEAD = "| metric | kind, unit | labels | is |\n|---|---|---|---|\n"


def page() -> str:
    """The whole page."""
    return PAGE.format(stack=table(Source.STACK), driver=table(Source.DRIVER), ports=DRIVER_PORTS)


def table(source: Source) -> str:
    """The table of what one source tells."""
    return HEAD + "".join(_row(metric) for metric in METRICS if metric.source is source)


def _row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    return f"| `{metric.name}` | {metric.kind}, {metric.unit} | {labels} | {metric.meaning} |\n"


if __name__ == "__main__":
    print(page(), end="")
