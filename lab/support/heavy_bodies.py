"""Request bodies, for all questions, that load a server heavily: many rows, many pairs or long lists of options."""

from __future__ import annotations

import json
import random
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any

Data = dict[str, Any]
Rows = list[Data]


def problem(count: int, seed: int = 0) -> Data:
    """Return a random problem of `count` buffers in one pool, with few buffers alive at the same time."""
    draw = random.Random(f"{seed} {count}")
    starts = [draw.randrange(count) for _ in range(count)]
    rows = [{"id": k, "size": draw.randrange(1, 1 << 20), "start": at, "end": at + 5} for k, at in enumerate(starts)]
    return {"buffers": rows, "pools": [{"name": "sram", "size": 1 << 30}]}


def bank(count: int, seed: int = 0) -> Data:
    """Return a problem with one `bank` entry of `count` buffers, which constrains every pair of these buffers."""
    content = problem(count, seed)
    content["pools"][0] |= {"size": 1 << 24, "bank_size": 4096}
    return content | {"bank": [{"buffers": list(range(count))}]}


def placements(count: int) -> Data:
    """Return a plan with a placement of `count` buffers every 64 bytes, which need not be valid."""
    return {"placements": [{"id": k, "pool": "sram", "offset": 64 * k} for k in range(count)]}


def graph(count: int, seed: int = 0) -> Data:
    """Return a random graph of `count` operations; each reads tensors produced at most 39 operations earlier."""
    draw = random.Random(f"{seed} {count}")
    ops = [{"in": sorted({max(0, k - draw.randrange(1, 40)) for _ in range(2)}), "out": [k]} for k in range(1, count)]
    return {"size": [draw.randrange(1, 1 << 20) for _ in range(count)], "ops": [{"out": [0]}, *ops]}


def statements(count: int) -> Data:
    """Return a program of `count` copy statements, each of which writes another buffer."""
    body = [{"op": "copy", "inputs": [f"b{k}"], "outputs": [f"b{k + 1}"]} for k in range(count)]
    buffers = [{"id": f"b{k}", "size": 64 + k % 99} for k in range(count + 1)]
    main = {"params": ["b0"], "results": [f"b{count}"], "buffers": buffers, "body": body}
    return {"functions": {"main": main}}


def file_body(count: int) -> Data:
    """Return a request body whose file is a CSV table of `count` buffers with offsets."""
    rows = "".join(f"{k},{k % 999},{k % 999 + 3},{k % 4096 + 1},{k * 64}\n" for k in range(count))
    return {"file": b64encode(("id,lower,upper,size,offset\n" + rows).encode()).decode(), "options": {"name": "a.csv"}}


def problem_body(name: str, content: Data) -> Data:
    """Return a request body that asks question `name` about the problem `content`."""
    count = len(content["buffers"])
    more: Mapping[str, Data] = {
        "verify": {"plan": placements(count)},
        "sweep": {"sizes": {"sram": {"first": 1 << 20, "last": 1 << 22, "step": 1 << 19}}},
        "check": {"options": {"budgets": ["1MiB"]}},
    }
    if name == "convert":
        return {"file": content, "plan": placements(count), "options": {"to": "c"}}
    return {"problem": content} | more.get(name, {})


_OF_PROBLEMS = (*("plan", "explain", "certify", "verify", "sweep", "check", "convert"),)
_SIZES: Mapping[str, Callable[[str], Data]] = {
    "20,000 buffers": lambda name: problem_body(name, problem(20_000)),
    "100,000 buffers": lambda name: problem_body(name, problem(100_000)),
    "bank of 440": lambda name: problem_body(name, bank(440)),
    "bank of 1,400": lambda name: problem_body(name, bank(1_400)),
}


def heavy_bodies(rows: float = 1.0) -> dict[tuple[str, str], Callable[[], Data]]:
    """Map (question, kind of input) to a function that builds a heavy body; `rows` scales the number of its rows."""

    def row_count(count: int) -> int:
        """Return a number of rows, scaled by `rows` but at least 10."""
        return max(10, int(count * rows))

    found: dict[tuple[str, str], Callable[[], Data]] = {
        (name, words): (lambda name=name, make=make: make(name))  # type: ignore[misc]
        for name in _OF_PROBLEMS
        for words, make in _SIZES.items()
        if rows == 1.0 or not words.startswith("100")
    }
    for count in (2_000, 30_000):
        for name in ("order", "cascade", "explain"):
            more = {"capacity": 1 << 20} if name == "explain" else {}
            found[name, f"{count:,} operations"] = lambda count=count, more=more: {
                "graph": graph(row_count(count)),
                **more,
            }  # type: ignore[misc]
    found["liveness", "100,000 statements"] = lambda: {"operations": statements(row_count(100_000))}
    found["liveness", "compared"] = lambda: {"operations": statements(row_count(20_000)), "options": {"compare": True}}
    found["liveness", "20,000 statements and a plan"] = lambda: {
        "operations": statements(row_count(20_000)),
        "plan": placements(10),
    }
    found["convert", "200,000 rows"] = lambda: file_body(row_count(200_000))
    found["compare", "100,000 rows"] = lambda: file_body(row_count(100_000))
    found["sweep", "changes of 500,000"] = lambda: {"problem": problem(3), "changes": [[{"a": 1}] * row_count(500_000)]}
    found["sweep", "500,000 names"] = lambda: {
        "problem": problem(3),
        "sizes": {f"p{k}": [1] for k in range(row_count(500_000))},
    }
    found["liveness", "500,000 pairs"] = lambda: {
        "operations": {
            "functions": {
                "main": {"buffers": [], "body": [{"op": "a", "may_overwrite": [["a", "b"]] * row_count(500_000)}]}
            }
        }
    }
    return found


def body_bytes(content: Data, limit_s: float) -> bytes:
    return json.dumps(content | {"options": content.get("options", {}) | {"time_limit_s": limit_s}}).encode()
