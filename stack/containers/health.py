"""Whether a part of Airflow is well, by what its api-server says of it: `python -m stack.containers.health PART`."""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Mapping
from typing import Any

from stack.containers import names

URL = f"http://{names.AIRFLOW_API}:{names.AIRFLOW_PORT}/api/v2/monitor/health"
SECONDS = 10


def well(told: Mapping[str, Any], part: str) -> bool:
    """Whether the api-server tells well of a part."""
    return (told.get(part) or {}).get("status") == "healthy"


def main(part: str) -> int:
    """0 where the part is well."""
    try:
        with urllib.request.urlopen(URL, timeout=SECONDS) as answer:
            return 0 if well(json.load(answer), part) else 1
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
