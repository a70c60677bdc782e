"""The memory of a running stack: proportional set size per process group and in all.

Command: python -m bench.memory [--json]
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import psutil

from bench import report
from bench.groups import Applications, group
from cli.entry import settings
from stack.footprint import memory_by_process


def by_group(sizes: Mapping[psutil.Process, int], applications: Applications) -> dict[str, tuple[int, int]]:
    """Group -> (processes, bytes), the largest first; a process that has ended since is in `ended`."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for process, size in sizes.items():
        try:
            name = group(process.cmdline(), applications)
        except psutil.Error:
            name = "ended"
        found[name].append(size)
    return {name: (len(of), sum(of)) for name, of in sorted(found.items(), key=lambda item: -sum(item[1]))}


def main(as_json: report.Json = False) -> None:
    """Measure the memory (PSS: shared pages are counted once) of the stack named by KAPPA_HOME, now."""
    stack = settings()
    groups = by_group(memory_by_process(stack.home), Applications(stack))
    total = sum(size for _, size in groups.values())
    if as_json:
        parts = {name: {"processes": count, "bytes": size} for name, (count, size) in groups.items()}
        report.document({"total_bytes": total, "groups": parts})
        return
    rows = [(name, count, size / 1e6) for name, (count, size) in groups.items()]
    report.table(f"memory of the stack: {total / 1e9:.2f} GB", ("group", "processes", "PSS MB"), rows)


if __name__ == "__main__":
    report.run(main)
