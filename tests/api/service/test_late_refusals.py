"""Calls of other kinds whose time is over: refused, late, or without an answer of the worker."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from tests.support.server import running


@pytest.mark.parametrize(("call", "status"), [("plan", 200), ("explain", 504)])
def test_what_comes_late_is_a_deadline_miss_and_a_refusal_too(call: str, status: int) -> None:
    rows = [{"id": k, "size": 1, "start": 0, "end": 1} for k in range(9)]
    problem = {"buffers": rows, "bank": [{"buffers": list(range(9))}], "pools": [{"name": "a", "bank_size": 8}]}
    body = json.dumps({"problem": problem, "options": {"time_limit_s": 0.05}}).encode()

    def slowly() -> Iterator[bytes]:
        yield body[:100]
        time.sleep(0.7)  # the time of a call begins with its first byte
        yield body[100:]

    with running() as server:
        answer = server.client.post(f"/v1/{call}", content=slowly(), headers={"Content-Type": "application/json"})
        assert answer.status_code == status
        assert "memplan_deadline_misses_total 1.0" in server.client.get("/metrics").text
