"""Proved plans as written JSON, for repeated identical requests, which builds may send for days.

Each plan was solved and verified for exactly the same request bytes, and is optimal.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass

_MOST_BYTES = 32 * 2**20
"""The most bytes of memory for written plans."""
_TIME = b',"wall_time_s":'
_ENTRY_BYTES = 600
"""The bytes of memory of an entry in addition to its answer."""


@dataclass(frozen=True, slots=True)
class WrittenPlan:
    """The JSON of a plan before and after its elapsed time, and its status."""

    before: bytes
    after: bytes
    status: str

    def content(self, arrived: float) -> bytes:
        """Return the JSON for a request that arrived at a time of the monotonic clock."""
        return b"%b%.6f%b" % (self.before, time.monotonic() - arrived, self.after)


def split_plan(content: bytes, status: str) -> WrittenPlan | None:
    """Return a plan's JSON, split before and after its elapsed time; None if it has no such time."""
    before, _, rest = content.rpartition(_TIME)
    _, comma, after = rest.partition(b",")
    return WrittenPlan(before + _TIME, comma + after, status) if before else None


class WrittenPlans:
    """The most recently used plans of a process by request digest, within a limit of memory; for one event loop."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most, self._held = most_bytes, 0
        self._plans: OrderedDict[bytes, WrittenPlan] = OrderedDict()

    def find(self, digest: bytes) -> WrittenPlan | None:
        """Return the plan for a request with this digest; None if there is none."""
        plan = self._plans.get(digest)
        if plan is not None:
            self._plans.move_to_end(digest)
        return plan

    def keep(self, digest: bytes, content: bytes, status: str) -> None:
        """Keep a proved plan as written JSON; the least recently used plans are dropped."""
        plan = split_plan(content, status)
        if plan is None or digest in self._plans or len(content) > self._most // 8:
            return
        self._plans[digest] = plan
        self._held += len(content) + _ENTRY_BYTES
        while self._held > self._most:
            _, gone = self._plans.popitem(last=False)
            self._held -= len(gone.before) + len(gone.after) + _ENTRY_BYTES
