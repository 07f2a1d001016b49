"""`POST /v1/batch`: plan many problems in one request; each plan is sent as soon as it is ready."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from math import inf
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from starlette.responses import StreamingResponse

from memplan.api.faults import BODY
from memplan.api.http.answers import AnswerWishes
from memplan.api.http.app_state import Service
from memplan.api.http.auth import caller_of, may
from memplan.api.http.openapi import NDJSON
from memplan.api.http.problem_details import error_answer, error_answers
from memplan.api.http.receiving import HeldShare, media_type, read_body
from memplan.api.options import Options
from memplan.api.refusals import UnavailableError
from memplan.api.reports.plan_formats import PLAN_FORMATS
from memplan.api.request_bodies import JSON, LARGE_BYTES, PLAN
from memplan.api.requests import ParsedRequest, check_time_limit, head_of, parse_request, submissions_of
from memplan.api.service.answering import CallerRequest
from memplan.api.service.request_task import OF_A_LINE, RequestTask
from memplan.planner.errors import InputError, OptionError, excerpt
from memplan.planner.model.plan import Plan
from memplan.solvers.search.control import Deadline

router = APIRouter()
_JSON_FORMATS = [name for name, row in PLAN_FORMATS.items() if row.media_type == JSON]
_NOTHING = b'{"problem":{"buffers":[]},"keep":{}}'


@router.post(
    "/v1/batch",
    operation_id="plan_batch",
    summary="Plan many problems",
    response_class=Response,
    responses=error_answers(400, 401, 403, 408, 413, 415, 422, 429, 503),
    dependencies=[may("plan"), Depends(Service.stream)],
)
async def batch(request: Request) -> Response:
    """Send a line with the plan or the error of each submission as soon as it is ready.

    Each line names its submission by position and, if it has one, by id. If the caller disconnects, the remaining
    submissions are cancelled.
    """
    service, wanted = Service.find_service(request), AnswerWishes.from_request(request, Plan)
    kind = media_type(request, NDJSON, JSON)
    # A wrong query makes every submission wrong, so refuse the whole batch.
    parse_request(PLAN, head_of(JSON, wanted.query), _NOTHING)
    body = await read_body(request, service.settings.max_body_bytes, kind)
    body = body if kind == NDJSON else await service.parse_body(submissions_of, body)
    answers = _Batch(service, lines_of(body), wanted, caller_of(request).key_id)
    return StreamingResponse(_result_lines(request, answers), media_type=NDJSON)


def lines_of(body: bytes) -> Iterator[bytes]:
    """Return the lines of a body, without blank lines."""
    return filter(None, map(bytes.strip, BytesIO(body)))


@dataclass(frozen=True)
class _Batch:
    """The submissions of a batch request; the options of its query are defaults for each submission."""

    service: Service
    submissions: Iterator[bytes]
    wanted: AnswerWishes
    key_id: str | None

    async def results(self, cancelled: asyncio.Event) -> AsyncGenerator[bytes, None]:
        """Yield each submission's result line in the order of completion.

        At most as many submissions are in progress as there are slots, so that memory does not grow with the batch. A
        submission's time limit starts when a worker takes it. Once `cancelled` is set, submissions in progress end with
        their best plan so far, and waiting submissions end with an error.
        """
        numbered, in_work = enumerate(self.submissions), set[asyncio.Task[bytes]]()
        try:
            while True:
                for index, line in islice(numbered, max(1, self.service.queue.places) - len(in_work)):
                    in_work.add(asyncio.create_task(self._submission_result(index, line, cancelled)))
                if not in_work:
                    return
                done, in_work = await asyncio.wait(in_work, return_when=asyncio.FIRST_COMPLETED)
                for result in done:
                    yield result.result()
        finally:
            cancelled.set()
            if in_work:
                await asyncio.wait(in_work)

    async def _submission_result(self, index: int, line: bytes, cancelled: asyncio.Event) -> bytes:
        """Return one submission's result line, which has the submission's plan or error."""
        about: dict[str, Any] = {"index": index, "id": None}
        share = HeldShare(self.service.bodies, self.key_id)
        BODY.set(line)
        try:
            if cancelled.is_set():
                raise UnavailableError("memplan: the batch was cancelled before this submission started")
            head = head_of(JSON, self.wanted.query)
            asked, read = await self.service.parse_request(PLAN, head, line, OF_A_LINE)
            options = self._check_options(asked, about)
            share.take(0 if read is None else len(read.pickled))
            task, due = RequestTask(PLAN, head, line, options.format or "json", read), Deadline.from_limit(inf)
            plan_key, is_large = self.service.plan_key(self.key_id), len(line) > LARGE_BYTES
            call = CallerRequest(task, asked, due, cancelled, self.key_id, plan_key, is_large)
            written = (await self.service.answering.run(call)).content
            selection = self.wanted.selection
            return _result_line(about, "plan", written if selection is None else selection.write(written))
        except Exception as error:  # noqa: BLE001 - one faulty submission must not stop the others
            return self._refusal_line(about, error)
        finally:
            share.release()

    def _refusal_line(self, about: dict[str, Any], error: Exception) -> bytes:
        answer = error_answer(error) or error_answer(self.service.faults.note(error, "batch"))
        assert answer is not None
        return _result_line(about, "error", bytes(answer.body))

    def _check_options(self, asked: ParsedRequest, about: dict[str, Any]) -> Options:
        """Return a submission's checked options, and store the submission's id in `about`; raises InputError."""
        about["id"] = _submission_id(asked.terms.get("id"))
        options = asked.options
        assert isinstance(options, Options)
        check_time_limit(options, self.service.settings)
        if options.format not in (None, *_JSON_FORMATS):
            names = f"{', '.join(_JSON_FORMATS[:-1])} or {_JSON_FORMATS[-1]}"
            raise OptionError(f"format: must be {names} in a batch, got {excerpt(options.format)}")
        return options


async def _result_lines(request: Request, found: _Batch) -> AsyncIterator[bytes]:
    async with found.service.caller(request) as cancelled, aclosing(found.results(cancelled)) as results:
        async for line in results:
            yield line


def _submission_id(name: object) -> str | int | None:
    """Return a submission's id for its result line; raises InputError if it is not a string or integer."""
    if name is None or isinstance(name, str) or (isinstance(name, int) and not isinstance(name, bool)):
        return name
    raise InputError(f"id: must be a string or an integer, got {excerpt(name)}")


def _result_line(about: dict[str, Any], kind: str, written: bytes) -> bytes:
    head = json.dumps(about, separators=(",", ":")).encode()
    return head[:-1] + f',"{kind}":'.encode() + written.strip() + b"}\n"
