"""`fields` and `omit` in the query of a call: the answer in JSON with some of its fields."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlencode

from fastapi import Request, Response

from memplan.api.http.app_state import Service
from memplan.api.http.requests.bodies import JSON
from memplan.capabilities.selection import NAMES, Selection
from memplan.planner.errors import OptionError, shown


def selection_in(request: Request, answer: type[Any]) -> tuple[Request, Selection | None]:
    """Return a request without `fields` and `omit` in its query, and what these choose of the answer's fields.

    Raises OptionError for names that the answer has not.
    """
    query = request.scope["query_string"]
    if not any(name.encode() in query for name in NAMES):  # nearly all
        return request, None
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    selection = Selection.of(answer, *([value for name, value in pairs if name == each] for each in NAMES))
    rest = urlencode([(name, value) for name, value in pairs if name not in NAMES]).encode()
    return Request({**request.scope, "query_string": rest}, request.receive), selection


async def selected(request: Request, answer: type[Any], handle: Callable[[Request], Awaitable[Response]]) -> Response:
    """Answer a request by `handle`, with those fields of its answer that the query names; raises OptionError."""
    rest, selection = selection_in(request, answer)
    response = await handle(rest)
    if selection is None or response.status_code != 200:
        return response
    if response.media_type != JSON:
        rule = f"must be left out where the answer is not {JSON}"
        raise OptionError(f"fields, omit: {rule}, got {shown(response.media_type)}")
    content = bytes(response.body)
    response.body = await Service.of(request).briefly(partial(selection.write, content), request, len(content))
    response.headers["content-length"] = str(len(response.body))
    return response
