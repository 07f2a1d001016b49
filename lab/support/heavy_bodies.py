"""Request bodies, for all questions, that load a server heavily: many rows, many pairs or long lists of options."""

import json
import random
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

Data = dict[str, Any]


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


def body_bytes(content: Data, limit_s: float) -> bytes:
    return json.dumps(content | {"options": content.get("options", {}) | {"time_limit_s": limit_s}}).encode()
