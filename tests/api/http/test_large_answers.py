"""Large answers go out in parts, between which other calls have their turn."""

from __future__ import annotations

import asyncio
from typing import Any

from memplan.api.http.limits.held_bodies import HeldBytes
from memplan.api.http.middleware import Envelope
from memplan.api.metrics import Metrics

_BODY = bytes(range(256)) * 4096


def answered(bodies: list[tuple[bytes, bool]]) -> list[dict[str, Any]]:
    """Return what goes out where an app answers with these bodies, each told with `more_body`."""
    sent: list[dict[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for body, is_more in bodies:
            await send({"type": "http.response.body", "body": body, "more_body": is_more})

    async def send(message: Any) -> None:
        sent.append({**message, "body": bytes(message.get("body", b""))})

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": b"", "raw_path": b"/"}
    asyncio.run(Envelope(app, Metrics(), HeldBytes(1), 1.0)(scope, receive, send))
    return sent[1:]


def test_a_large_answer_goes_out_in_parts_and_the_last_one_ends_it() -> None:
    sent = answered([(_BODY, False)])
    assert len(sent) > 1
    assert b"".join(part["body"] for part in sent) == _BODY
    assert [part["more_body"] for part in sent] == [True] * (len(sent) - 1) + [False]


def test_parts_of_a_stream_end_where_the_stream_does() -> None:
    sent = answered([(_BODY, True), (b"end", False)])
    assert b"".join(part["body"] for part in sent) == _BODY + b"end"
    assert [part.get("more_body", False) for part in sent] == [True] * (len(sent) - 1) + [False]
