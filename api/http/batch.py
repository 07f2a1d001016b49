"""Many problems in one request, and one line of the answer for each, as it is ready."""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

from anyio import to_thread
from starlette.datastructures import QueryParams

from memplan.api.http.problem_details import error_answer, problem_details
from memplan.api.http.requests.submissions import check_size, check_time_limit, submission_from
from memplan.api.jobs.work import Solves
from memplan.api.options import Options
from memplan.api.refusals import UnavailableError
from memplan.api.reports.plan_formats import JSON, PLAN_FORMATS, write_plan
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.service.plan_request import PlanRequest
from memplan.api.settings import Settings
from memplan.capabilities.bodies import read_object
from memplan.capabilities.capability import due
from memplan.capabilities.selection import Selection
from memplan.planner.errors import InputError, MemplanError, OptionError, shown
from memplan.planner.model.plan import Plan

_PRIORITY = -1
"""Requests for one plan go before requests for many."""
_JSON_FORMATS = [name for name, known in PLAN_FORMATS.items() if known.media_type == JSON]
_FRAMES_LOGGED = 12
_MOST_REFUSED = 100
"""The wrong submissions that are told at a time: errors that pass from thread to thread are cycles of garbage each."""
_LOG = logging.getLogger("memplan")

Submission = bytes | dict[str, Any]
"""A line that is yet to be parsed, or an object that has been."""


def lines_of(body: bytes) -> Iterator[Submission]:
    """Yield the lines of a body that are not blank."""
    start = 0
    while start < len(body):
        end = body.find(b"\n", start)
        end = len(body) if end < 0 else end
        if line := body[start:end].strip():
            yield line
        start = end + 1


def objects_of(body: bytes) -> list[Submission]:
    """Return the entries of `{"submissions": [...]}`; raises InputError."""
    content = read_object(body)
    if unknown := [name for name in content if name != "submissions"]:
        raise InputError(*(f"{shown(name)}: is not a known field" for name in unknown[:10]))
    entries = content.get("submissions")
    if not isinstance(entries, list):
        got = shown(entries) if "submissions" in content else "nothing"
        raise InputError(f"submissions: must be a list, got {got}")
    for i, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise InputError(f"submissions[{i}]: must be an object, got {shown(entry)}")
    return entries


@dataclass(frozen=True)
class _Right:
    """A submission that was read, and what its line begins with."""

    about: dict[str, Any]
    problem: CompiledProblem
    options: Options


@dataclass(frozen=True)
class Batch:
    """The submissions of one request; what has no options of its own goes by those of `query`.

    Of the plans, lines have what the `selection` chooses.
    """

    submissions: Iterator[Submission]
    query: QueryParams
    settings: Settings
    solving: Solves
    key_id: str | None = None
    selection: Selection | None = None

    async def results(self, places: Callable[[], int], cancelled: asyncio.Event) -> AsyncGenerator[bytes, None]:
        """Yield a line for each submission, in the order in which they are ready; of those that are wrong some at once.

        As many are in work as there are `places`, so that memory does not grow with the batch; the time limit of each
        counts from when a worker takes it. When `cancelled` is set, those in work end with the best plan so far, and
        those that have had no turn yet with an error.
        """
        numbered, in_work, is_read = enumerate(self.submissions), set[asyncio.Task[bytes]](), False
        try:
            while in_work or not is_read:
                while not is_read and len(in_work) < max(1, places()):
                    refused, right = await to_thread.run_sync(self._next, numbered, cancelled)
                    if refused:
                        yield b"".join(refused)
                    if right is not None:
                        in_work.add(asyncio.create_task(self._result(right, cancelled)))
                    is_read = right is None and not refused
                if in_work:
                    done, in_work = await asyncio.wait(in_work, return_when=asyncio.FIRST_COMPLETED)
                    for result in done:
                        yield result.result()
        finally:
            cancelled.set()
            if in_work:
                await asyncio.wait(in_work)

    def _next(
        self, numbered: Iterator[tuple[int, Submission]], cancelled: asyncio.Event
    ) -> tuple[list[bytes], _Right | None]:
        """Read the next submission that is right, in any thread; return the lines of those before it that are not.

        These are some at a time; without either, none is left.
        """
        refused: list[bytes] = []
        for index, submission in numbered:
            about: dict[str, Any] = {"index": index, "id": None}
            try:
                if cancelled.is_set():
                    raise UnavailableError("memplan: stopped before this one had its turn")
                return refused, self._read(submission, about)
            except Exception as error:  # noqa: BLE001  the border: the others of the batch go on
                refused.append(_refusal(about, error))
            if len(refused) >= _MOST_REFUSED:
                break
        return refused, None

    async def _result(self, read: _Right, cancelled: asyncio.Event) -> bytes:
        try:
            asked = PlanRequest(read.problem, read.options, due(inf), _PRIORITY, key_id=self.key_id)
            plan = await self.solving.plan(asked, cancelled)
            return _line(read.about, "plan", await to_thread.run_sync(self._written, plan, read))
        except Exception as error:  # noqa: BLE001  the border, as above
            return _refusal(read.about, error)

    def _written(self, plan: Plan, read: _Right) -> bytes:
        written = write_plan(plan, read.problem.problem, read.options.format or "json")
        return written if self.selection is None else self.selection.write(written)

    def _read(self, submission: Submission, about: dict[str, Any]) -> _Right:
        content = _parsed(submission)
        about["id"] = _name(content)
        problem, options = submission_from(content, self.query)
        check_time_limit("time_limit_s", options.time_limit_s, self.settings.max_time_limit_s)
        check_size(problem, self.settings)
        if options.format not in (None, *_JSON_FORMATS):
            known = f"{', '.join(_JSON_FORMATS[:-1])} or {_JSON_FORMATS[-1]}"
            raise OptionError(f"format: must be {known} in a batch, got {shown(options.format)}")
        return _Right(about, CompiledProblem.of(problem), options)


def _parsed(submission: Submission) -> dict[str, Any]:
    return dict(submission) if isinstance(submission, dict) else read_object(submission)


def _name(content: dict[str, Any]) -> str | int | None:
    """Take the id of a submission, by which its result is known, from its content."""
    name = content.pop("id", None)
    if name is None or isinstance(name, str) or (isinstance(name, int) and not isinstance(name, bool)):
        return name
    raise InputError(f"id: must be a string or an integer, got {shown(name)}")


def _refusal(about: dict[str, Any], error: Exception) -> bytes:
    """Return the line that says what is wrong with a submission, or that the program failed at it, which is logged."""
    if isinstance(error, MemplanError):
        answer = error_answer(error) or problem_details(500, (str(error),))
    else:
        frames = "".join(traceback.format_tb(error.__traceback__)[-_FRAMES_LOGGED:])
        _LOG.error("%s in a batch\n%s", type(error).__name__, frames)
        answer = problem_details(500, ("memplan: failed; its log says where",))
    return _line(about, "error", bytes(answer.body))


def _line(about: dict[str, Any], kind: str, written: bytes) -> bytes:
    head = json.dumps(about, separators=(",", ":")).encode()
    return head[:-1] + f',"{kind}":'.encode() + written.strip() + b"}\n"
