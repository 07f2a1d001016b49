"""Bodies: media types, the bytes of a request up to a limit, and the plan of an answer in the format asked for."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import anyio
from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from memplan.api.http.limits.heads import split_media
from memplan.api.http.limits.held_bodies import HeldShare
from memplan.api.http.limits.memory import check_memory, is_surely_read_in
from memplan.api.http.problem_details import MediaTypeError, TooLargeError
from memplan.api.options import Options
from memplan.api.refusals import FullError
from memplan.api.reports.plan_formats import PLAN_FORMATS
from memplan.api.store.caller import Caller
from memplan.planner.errors import shown
from memplan.planner.formats import FORMATS
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem

FORMAT_OF = {module.MEDIA_TYPE: name for name, module in FORMATS.items()}
"""The format of files for each media type that the body of a problem may have."""
_ANSWERS = {known.media_type: name for name, known in PLAN_FORMATS.items() if known.is_default}
"""The plan format for each media type that a caller may accept."""
JSON, CSV, TEXT = "application/json", "text/csv", "text/plain"
NDJSON = "application/x-ndjson"
_CERTIFIED = '</v1/certify>; rel="certificate"'
_LINKS = {"optimal": _CERTIFIED, "infeasible": f'</v1/explain>; rel="explanation", {_CERTIFIED}'}
"""The links of plans that claim something: the same problem is answered there with the proof, or the reason."""
_DRAIN_S = 1.0
_WEIGHT = re.compile(r"[01](\.\d{0,3})?")


def media_type(request: Request, *known: str) -> str:
    """Return which of the `known` media types the body has, the first if nothing is said; raises MediaTypeError."""
    said = request.headers.get("content-type")
    if (said is None or said in known) and "content-encoding" not in request.headers:
        return said or known[0]
    header = known[0] if said is None else said
    found = split_media(header.strip().encode("latin-1"))
    if found is None or found[0] not in known:
        raise MediaTypeError(f"content-type: must be {' or '.join(known)}, got {shown(header)}")
    kind, charset = found[0], found[1].get("charset", "utf-8")
    if charset.lower() not in ("utf-8", "utf8", "us-ascii"):
        raise MediaTypeError(f"content-type: charset must be utf-8, got {shown(charset)}")
    if (coding := request.headers.get("content-encoding", "identity")) != "identity":
        raise MediaTypeError(f"content-encoding: must be identity, got {shown(coding)}")
    return kind


async def read_body(request: Request, limit: int) -> bytes:
    """Return the body; raises TooLargeError as soon as more than `limit` bytes are announced or have come.

    Raises TooLargeError, too, where reading it would take too much memory, TooSlowError where it does not come in time,
    and FullError where the server holds too many other bodies.
    """
    announced = request.headers.get("content-length", "")
    stream = request.stream()
    if announced.isdecimal() and int(announced) > limit:
        await _drain(stream)
        raise TooLargeError(f"body: must be at most {limit} bytes, got {announced}")
    share: HeldShare = request.state.body_share
    body = bytearray()
    try:
        async with share.coming(Caller.of(request).key_id):
            async for chunk in stream:
                if len(body) + len(chunk) > limit:
                    raise TooLargeError(f"body: must be at most {limit} bytes, got more")
                share.take(len(chunk))
                body += chunk
    except (TooLargeError, FullError):
        body.clear()
        share.release()
        await _drain(stream)
        raise
    found, most = bytes(body), share.whole.most_memory
    if not is_surely_read_in(len(found), most):
        del body
        await to_thread.run_sync(check_memory, found, most)
    return found


async def _drain(stream: AsyncIterator[bytes]) -> None:
    """Let the rest of a body pass for a moment: a connection that is closed on a sender loses the answer to it."""
    with anyio.move_on_after(_DRAIN_S):
        async for _ in stream:
            pass


def format_of_answer(request: Request, options: Options) -> str:
    """Return the plan format that the options name, or that of the media type that the caller wants most, or `json`."""
    accept = request.headers.get("accept")
    if options.format is not None or accept is None:
        return options.format or "json"
    weights = dict.fromkeys(_ANSWERS, 0.0)
    for entry in accept.split(","):
        name, *parameters = (part.strip().lower() for part in entry.split(";"))
        if name in weights:
            weight = next((text.removeprefix("q=") for text in parameters if text.startswith("q=")), "1")
            weights[name] = max(weights[name], float(weight) if _WEIGHT.fullmatch(weight) else 0.0)
    return _ANSWERS[max(weights, key=weights.__getitem__)]


def plan_answer(plan: Plan, problem: Problem, plan_format: str) -> Response:
    """Write a plan; one without placements is JSON in any case."""
    known = PLAN_FORMATS[plan_format if plan.status in ("optimal", "feasible") else "json"]
    return Response(known.write(plan, problem), media_type=known.media_type)


def links_of(status: str | None) -> dict[str, str]:
    """Return the headers of an answer with a plan of some status: the links to its reason and its certificate."""
    return {"Link": _LINKS[status]} if status in _LINKS else {}
