"""Proved plans in written form, for identical requests, which builds may repeat for days.

Each plan was found and verified for exactly the same request bytes, and it is optimal.
"""

import time
from collections import OrderedDict
from dataclasses import dataclass

_MOST_BYTES = 32 * 2**20
"""The maximum memory for written plans, in bytes."""
_TIME = b',"wall_time_s":'
_ENTRY_BYTES = 600
"""The memory of an entry, in bytes, besides its answer."""


@dataclass(frozen=True, slots=True)
class WrittenPlan:
    """A plan's status and its JSON in two parts, between which the elapsed time is inserted for each request."""

    before: bytes
    after: bytes
    status: str

    def content(self, arrived: float) -> bytes:
        """Return the JSON with the time elapsed since a request arrived, which is given on the monotonic clock."""
        return b"%b%.6f%b" % (self.before, time.monotonic() - arrived, self.after)


class WrittenPlans:
    """A process's most recent written plans by request digest, within a memory limit; for one event loop."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        """Start without plans; they may take at most `most_bytes` bytes."""
        self._most, self._held = most_bytes, 0
        self._plans: OrderedDict[bytes, WrittenPlan] = OrderedDict()

    def find(self, digest: bytes) -> WrittenPlan | None:
        """Return the plan for a request with this digest; None if there is none."""
        plan = self._plans.get(digest)
        if plan is not None:
            self._plans.move_to_end(digest)
        return plan

    def keep(self, digest: bytes, content: bytes, status: str) -> None:
        """Store a proved plan's JSON, unless it is large or has no elapsed time; drop the least recently used plans."""
        before, _, rest = content.rpartition(_TIME)
        _, comma, after = rest.partition(b",")
        if not before or digest in self._plans or len(content) > self._most // 8:
            return
        self._plans[digest] = WrittenPlan(before + _TIME, comma + after, status)
        self._held += len(content) + _ENTRY_BYTES
        while self._held > self._most:
            _, gone = self._plans.popitem(last=False)
            self._held -= len(gone.before) + len(gone.after) + _ENTRY_BYTES
