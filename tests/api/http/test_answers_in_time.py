"""What cannot be read and compiled in time is answered all the same, on time."""

from __future__ import annotations

import json

from tests.support.server import running


def test_what_takes_too_long_to_compile_is_answered_as_unknown_with_the_reason() -> None:
    rows = [{"id": i, "size": 1, "lifetimes": [[0, 1]]} for i in range(60_000)]
    body = json.dumps({"problem": {"buffers": rows}, "options": {"time_limit_s": 0.01}})
    with running() as server:
        answer = server.client.post("/v1/plan", content=body).json()
        assert answer["status"] == "unknown"
        assert answer["stop_reason"] == "time_limit"
        assert "60000 buffers could not be read, compiled and planned within 0.01 s" in answer["explanation"]["message"]
        assert answer["placements"] == []
        for limit in (0.07, 0.09, 0.1):
            small = {"problem": {"buffers": rows[:300]}, "options": {"time_limit_s": limit}}
            assert server.client.post("/v1/plan", json=small).status_code == 200
