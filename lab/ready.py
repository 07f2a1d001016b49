"""Ask a server whether it is ready after faults, ten seconds long: `python -m lab.ready`.

The seconds until all answers are 200: after an answer that did not come in time, after the end of all its children, and
after a restart of PostgreSQL, where that is installed. The server has one process, as in the Kubernetes manifests.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from pathlib import Path

from lab.support.served import Served, exchanged, served
from tests.support.postgresql import postgresql, why_not

_FOR_S = 10.0
_OPERATIONS = 300
_CHAIN = {
    "widths": [8192] * (_OPERATIONS + 1),
    "heights": [8192] * (_OPERATIONS + 1),
    "inputs": [[k] for k in range(_OPERATIONS)],
    "outputs": [[k + 1] for k in range(_OPERATIONS)],
    "base_costs": [1500] * _OPERATIONS,
    "op_types": ["Pointwise"] * _OPERATIONS,
    "fast_memory_capacity": 500_000,
    "slow_memory_bandwidth": 10,
    "native_granularity": [128, 128],
}
_SLOW = json.dumps({"problem": _CHAIN, "options": {"time_limit_s": 0.1}}).encode()


def main() -> None:
    """Run, and print the seconds as one line of JSON."""
    with tempfile.TemporaryDirectory(prefix="memplan-ready-") as folder, served(Path(folder), processes="1") as own:
        status = _answered(own, "/v1/schedule", _SLOW, "POST")
        seconds = {f"after_{status}": _not_ready(own), "after_kill": 0.0}
        for each in own.process.children(recursive=True):
            if "memplan.api.workers" in " ".join(each.cmdline()):
                each.kill()
        seconds["after_kill"] = _not_ready(own)
    if why_not() is None:
        with (
            postgresql(is_safe=True) as database,
            tempfile.TemporaryDirectory(prefix="memplan-ready-") as folder,
            served(Path(folder), processes="1", database_url=database.url()) as own,
        ):
            database.kill()
            _not_ready(own)
            database.start()
            seconds["after_restart"] = _not_ready(own)
    print(json.dumps({"figure": f"not ready for {max(seconds.values())} s at most"} | seconds))


def _answered(own: Served, path: str, body: bytes = b"", method: str = "GET") -> str:
    return asyncio.run(exchanged(own, path, body, None, method))[9:12].decode()


def _not_ready(own: Served) -> float:
    """Return the seconds until the last answer that was not 200."""
    began, last = time.monotonic(), 0.0
    while (passed_s := time.monotonic() - began) < _FOR_S:
        last = last if _answered(own, "/readyz") == "200" else passed_s
        time.sleep(0.1)
    return round(last, 2)


if __name__ == "__main__":
    main()
