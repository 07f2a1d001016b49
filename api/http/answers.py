"""The form in which a caller wants an answer: selected fields, a plan format, or an error status for a bad result."""

import re
from dataclasses import dataclass
from functools import cache, partial
from typing import Any
from urllib.parse import parse_qsl, urlencode

from fastapi import Request, Response
from pydantic import TypeAdapter

from memplan.api.http.app_state import Service
from memplan.api.reports.plan_formats import PLAN_FORMATS
from memplan.api.request_bodies import JSON
from memplan.planner.errors import OptionError, excerpt
from memplan.questions import QUESTIONS
from memplan.questions.question import Question
from memplan.questions.question.selection import FIELDS, Selection

FAILED = 417
"""The HTTP status, on request, of an answer for which the command would exit with a status other than 0."""
FAIL = "fail"
FAIL_HELP = f"Answer with status {FAILED} where the command would fail: over budget, not valid, or nothing that fits."
_FORMATS = {row.media_type: name for name, row in PLAN_FORMATS.items() if row.is_default}
"""The plan format for each media type of the Accept header."""
_WEIGHT = re.compile(r"[01](\.\d{0,3})?")


@dataclass(frozen=True)
class AnswerWishes:
    """The form in which a caller wants the answer.

    `selection` has the wanted fields (None: all); with `fails`, a bad result gets an error status; `query` has the
    rest of the request's query.
    """

    query: str
    selection: Selection | None = None
    fails: bool = False

    @classmethod
    def from_request(cls, request: Request, answer: type[Any]) -> "AnswerWishes":
        """Return the form that a request's query asks for; raises OptionError for fields that the answer lacks."""
        query: str = request.scope["query_string"].decode("latin-1")
        if not any(name in query for name in (FIELDS, FAIL)):  # Most queries contain neither name, so skip parsing.
            return cls(query)
        pairs = parse_qsl(query, keep_blank_values=True)
        selection = Selection.from_names(answer, [value for name, value in pairs if name == FIELDS])
        words = [value for name, value in pairs if name == FAIL]
        if any(value not in ("true", "false") for value in words):
            raise OptionError(f"{FAIL}: must be true or false, got {excerpt(words[0])}")
        rest = urlencode([(name, value) for name, value in pairs if name not in (FIELDS, FAIL)])
        return cls(rest, selection, "true" in words)

    async def shape(self, request: Request, question: Question[Any], response: Response) -> Response:
        """Return the response in the requested form; raises OptionError if the response is not JSON."""
        if response.status_code != 200 or (self.selection is None and not self.fails):
            return response
        if response.media_type != JSON:
            rule = f"must be left out unless the answer is {JSON}"
            raise OptionError(f"{FIELDS}, {FAIL}: {rule}, got {excerpt(response.media_type)}")
        content = bytes(response.body)
        work = partial(self._shaped_content, question, content)
        response.body, is_bad = await Service.find_service(request).run_work(work, len(content))
        response.headers["content-length"] = str(len(response.body))
        response.status_code = FAILED if is_bad else 200
        return response

    def _shaped_content(self, question: Question[Any], content: bytes) -> tuple[bytes, bool]:
        is_bad = self.fails and question.exit_status(TypeAdapter(question.answer).validate_json(content)) != 0
        return content if self.selection is None else self.selection.write(content), is_bad


def format_accepted(request: Request) -> str:
    """Return the plan format of the media type that the Accept header prefers; `json` by default."""
    accept = request.headers.get("accept")
    if accept is None or accept == "*/*":
        return "json"
    weights = dict.fromkeys(_FORMATS, 0.0)
    for entry in accept.split(","):
        name, *parameters = (part.strip().lower() for part in entry.split(";"))
        if name in weights:
            weight = next((text.removeprefix("q=") for text in parameters if text.startswith("q=")), "1")
            weights[name] = max(weights[name], float(weight) if _WEIGHT.fullmatch(weight) else 0.0)
    return _FORMATS[max(weights, key=weights.__getitem__)]


def plan_response(content: bytes, status: str | None, plan_format: str) -> Response:
    """Return the response with a plan already written in `plan_format`; a plan without placements is always JSON."""
    media = PLAN_FORMATS[plan_format].media_type if status in ("optimal", "feasible") else JSON
    links = _link_header(status)
    return Response(content, media_type=media, headers={"Link": links} if links else None)


@cache
def _link_header(status: str | None) -> str:
    rows = ((each.path, each.link) for each in QUESTIONS.values())
    return ", ".join(f'<{path}>; rel="{link.rel}"' for path, link in rows if link and status in link.statuses)
