"""Two plain buffers, and problems of one or both with something changed in the last."""

from __future__ import annotations

from typing import Any

A = {"id": "a", "size": 4, "start": 0, "end": 2}
B = {"id": "b", "size": 4, "start": 1, "end": 3}


def one(**changes: Any) -> dict[str, Any]:
    return {"buffers": [A | changes]}


def two(**changes: Any) -> dict[str, Any]:
    return {"buffers": [A, B | changes]}
