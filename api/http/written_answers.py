"""Answers that were written, for bodies that come again byte by byte; only what is proved is kept.

What is kept was solved and verified by this process for these very bytes, and no search can find better.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from sys import intern

from fastapi import Response

from memplan.api.http.requests.bodies import JSON
from memplan.planner.model.plan import Plan

_TIME = b',"wall_time_s":'
_REST = re.compile(rb'[0-9.e+-]+(,"problem_hash":"sha256:[0-9a-f]{64}","version":"[^"]*"\}\n)')
_ENTRY_BYTES = 600
"""The bytes of memory that an entry takes beside its answer."""


@dataclass(frozen=True, slots=True)
class WrittenAnswer:
    """An answer in JSON, but for the time that it took; `problem_hash` names the problem."""

    before: bytes
    after: bytes
    link: str
    problem_hash: str

    @classmethod
    def of(cls, answer: Response, plan: Plan) -> WrittenAnswer | None:
        """Return the written form of an answer; None of one that may become another."""
        if plan.stop_reason != "proved" or plan.wall_time_s is None or answer.media_type != JSON:
            return None
        before, _, rest = bytes(answer.body).rpartition(_TIME)
        found = _REST.fullmatch(rest)
        if found is None or plan.problem_hash is None:
            return None
        return cls(before + _TIME, found[1], intern(answer.headers["link"]), plan.problem_hash)

    def response(self, elapsed_s: float) -> Response:
        """Return the answer to a request that came so long ago."""
        body = b"%b%b%b" % (self.before, repr(round(elapsed_s, 6)).encode(), self.after)
        return Response(body, media_type=JSON, headers={"Link": self.link})


class WrittenAnswers:
    """The latest answers, up to so many bytes of memory. For one event loop."""

    def __init__(self, most_bytes: int) -> None:
        self._most, self._held = most_bytes, 0
        self._kept: OrderedDict[Hashable, WrittenAnswer] = OrderedDict()

    def find(self, name: Hashable) -> WrittenAnswer | None:
        """Return what was answered; the name is all that the answer depends on."""
        found = self._kept.get(name)
        if found is not None:
            self._kept.move_to_end(name)
        return found

    def keep(self, name: Hashable, answer: WrittenAnswer) -> None:
        """Keep an answer; the oldest are dropped."""
        size = _size(answer)
        if name in self._kept or size > self._most // 8:
            return
        self._kept[name] = answer
        self._held += size
        while self._held > self._most:
            self._held -= _size(self._kept.popitem(last=False)[1])


def _size(answer: WrittenAnswer) -> int:
    return len(answer.before) + len(answer.after) + _ENTRY_BYTES
