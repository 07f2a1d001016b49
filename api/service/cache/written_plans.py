"""Proved plans as they were written, for requests that come again byte by byte: builds send the same ones for days.

What is kept was solved and verified for these very bytes, and no search can find better.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass

WRITTEN = "WRITTEN_PLANS"
"""The variable that tells a server process where the plans of all of them are."""
WRITTEN_BYTES = 32 * 2**20
"""The bytes of memory for them, of one process or of all that a server has."""
_TIME = b',"wall_time_s":'
_ENTRY_BYTES = 600
"""The bytes of memory that an entry takes beside its answer."""


@dataclass(frozen=True, slots=True)
class WrittenPlan:
    """The JSON of a plan before and after the time that it took, and its status."""

    before: bytes
    after: bytes
    status: str

    def content(self, arrived: float) -> bytes:
        """Return the JSON for a request that came at that moment of the monotonic clock."""
        return b"%b%.6f%b" % (self.before, time.monotonic() - arrived, self.after)


def parted(content: bytes, status: str) -> WrittenPlan | None:
    """Return a plan that was written as JSON, around the time that it took; None where that is not in it."""
    before, _, rest = content.rpartition(_TIME)
    _, comma, after = rest.partition(b",")
    return WrittenPlan(before + _TIME, comma + after, status) if before else None


class WrittenPlans:
    """The latest plans of a process by the digests of their requests, up to so many bytes of memory.

    For one event loop.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most, self._held = most_bytes, 0
        self._plans: OrderedDict[bytes, WrittenPlan] = OrderedDict()

    def find(self, digest: bytes) -> WrittenPlan | None:
        """Return the plan of an equal request."""
        plan = self._plans.get(digest)
        if plan is not None:
            self._plans.move_to_end(digest)
        return plan

    def keep(self, digest: bytes, content: bytes, status: str) -> None:
        """Keep a proved plan that was written as JSON; those that were used longest ago are dropped."""
        plan = parted(content, status)
        if plan is None or digest in self._plans or len(content) > self._most // 8:
            return
        self._plans[digest] = plan
        self._held += len(content) + _ENTRY_BYTES
        while self._held > self._most:
            _, gone = self._plans.popitem(last=False)
            self._held -= len(gone.before) + len(gone.after) + _ENTRY_BYTES
