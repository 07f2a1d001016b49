"""Requests that cost a server far more than they cost their sender: each of at most 64 KB, all of them different.

Every family is named for what it is meant to hold up. Answers are whatever they are, but for 5xx.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

MOST_BYTES = 64 * 1024
Headers = tuple[tuple[str, str], ...]
JSON = "application/json"


def written(method: str, target: str, body: bytes = b"", media: str = JSON, headers: Headers = ()) -> bytes:
    """Return the bytes of a request as a connection carries it."""
    said = [("Host", "localhost"), *headers]
    if body:
        said += [("Content-Length", str(len(body)))]
        said += [] if any(name == "Content-Type" for name, _ in headers) else [("Content-Type", media)]
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in said)]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def posted(path: str, content: object, headers: Headers = ()) -> bytes:
    """Return a POST of an object as JSON."""
    return written("POST", path, json.dumps(content, separators=(",", ":")).encode(), headers=headers)


def rows(draw: random.Random, count: int) -> list[dict[str, Any]]:
    """Return so many buffers, no two requests' the same."""
    return [
        {"id": k, "size": draw.randrange(1, 1 << 20), "start": (start := draw.randrange(count)), "end": start + 3}
        for k in range(count)
    ]


def _names_in_query(draw: random.Random) -> bytes:
    names = "&".join(f"{draw.randrange(36)}" for _ in range(20_000))
    return written("GET", f"/v1/jobs?{names}")


def _capacities_in_query(draw: random.Random) -> bytes:
    pools = [{"name": f"p{k}"} for k in range(1500)]
    query = "&".join(f"capacity=p{draw.randrange(3000)}%3D{k}" for k in range(1200))
    return posted(f"/v1/plan?{query}", {"buffers": rows(draw, 3), "pools": pools})


def _quoted_media(draw: random.Random) -> bytes:
    said = f'{JSON};a="' + ";" * (50_000 + draw.randrange(100))
    return written("POST", "/v1/plan", b"{}", headers=(("Content-Type", said),))


def _accepted(draw: random.Random) -> bytes:
    accept = ",".join(f"text/{draw.randrange(99)};q=0.{k % 9}" for k in range(3500))
    return posted("/v1/plan", {"buffers": rows(draw, 5)}, headers=(("Accept", accept),))


def _tags(draw: random.Random) -> bytes:
    tags = ",".join(f'W/"{draw.randrange(10**9):x}"' for _ in range(3500))
    return written("GET", "/v1/plans/sha256:" + "0" * 64, headers=(("If-None-Match", tags),))


def _many_headers(draw: random.Random) -> bytes:
    return written("GET", "/v1/solvers", headers=tuple((f"x-{k}", str(draw.random())) for k in range(1800)))


def _deep(draw: random.Random) -> bytes:
    depth = 30_000 - draw.randrange(100)
    return written("POST", "/v1/plan", b"[" * depth + b"]" * depth)


def _digits(draw: random.Random) -> bytes:
    size = "9" * (50_000 - draw.randrange(100))
    return written("POST", "/v1/plan", b'{"buffers":[{"id":1,"size":%s,"start":0,"end":1}]}' % size.encode())


def _unknown_fields(draw: random.Random) -> bytes:
    return posted("/v1/plan", {f"{draw.random()}": k for k in range(2500)} | {"problem": {"buffers": []}})


def _bank(draw: random.Random) -> bytes:
    count = 900
    buffers = [{"id": k, "size": draw.randrange(1, 99), "start": k, "end": k + 1} for k in range(count)]
    bank = [{"buffers": list(range(count))}]
    return posted("/v1/plan", {"problem": {"buffers": buffers, "bank": bank, "pools": [{"name": "a", "bank_size": 8}]}})


def _banks(draw: random.Random) -> bytes:
    buffers = rows(draw, 300)
    bank = [{"buffers": list(range(300)), "weight": k} for k in range(1, 20)]
    return posted("/v1/plan", {"problem": {"buffers": buffers, "bank": bank, "pools": [{"name": "a", "bank_size": 8}]}})


def _pools(draw: random.Random) -> bytes:
    pools = [{"name": f"p{k}", "size": draw.randrange(1 << 24)} for k in range(1500)]
    options = {"time_limit_s": 0.5}
    return posted("/v1/plan", {"problem": {"buffers": rows(draw, 50), "pools": pools}, "options": options})


def _conflicts(draw: random.Random) -> bytes:
    buffers = [{"id": k, "size": draw.randrange(1, 1 << 20)} for k in range(100)]
    pairs = [[one, other] for one in range(100) for other in range(one)]
    return posted("/v1/plan", {"problem": {"buffers": buffers, "conflicts": pairs}, "options": {"time_limit_s": 0.5}})


def _holes(draw: random.Random) -> bytes:
    lifetimes = [[[2 * k, 2 * k + 1] for k in range(400)] for _ in range(12)]
    buffers = [{"id": k, "size": draw.randrange(1, 1 << 20), "lifetimes": held} for k, held in enumerate(lifetimes)]
    return posted("/v1/plan", {"buffers": buffers})


def _reserved(draw: random.Random) -> bytes:
    reserved = [[64 * k, draw.randrange(1, 60)] for k in range(4000)]
    return posted("/v1/plan", {"buffers": rows(draw, 150), "pools": [{"name": "a", "reserved": reserved}]})


def _random_problem(draw: random.Random) -> bytes:
    return posted("/v1/plan", {"problem": {"buffers": rows(draw, 900)}, "options": {"time_limit_s": 0.2}})


def _calls(draw: random.Random) -> bytes:
    depth = 15
    functions: dict[str, Any] = {
        f"f{k}": {"buffers": [], "body": [{"call": f"f{k + 1}"}, {"call": f"f{k + 1}"}]} for k in range(depth)
    }
    functions[f"f{depth}"] = {
        "buffers": [{"id": "x", "size": draw.randrange(1, 99)}],
        "body": [{"op": "a", "outputs": ["x"]}, {"op": "b", "inputs": ["x"]}],
    }
    return posted("/v1/liveness", {"entry": "f0", "functions": functions})


def _compared_calls(draw: random.Random) -> bytes:
    content = json.loads(_calls(draw).partition(b"\r\n\r\n")[2])
    return posted("/v1/liveness", {"operations": content, "options": {"compare": True, "time_limit_s": 0.5}})


def _verified(draw: random.Random) -> bytes:
    buffers = [{"id": k, "size": draw.randrange(1, 99), "start": 0, "end": 1} for k in range(600)]
    placements = [{"id": k, "pool": "memory", "offset": 0} for k in range(600)]
    return posted("/v1/verify", {"problem": {"buffers": buffers}, "plan": {"placements": placements}})


def _csv(draw: random.Random) -> bytes:
    lines = "\n".join(f"{k},0,{k % 7 + 1},{draw.randrange(1, 999)}" for k in range(3500))
    return written("POST", "/v1/plan?time_limit_s=0.2", f"id,lower,upper,size\n{lines}\n".encode(), "text/csv")


def _batch(draw: random.Random) -> bytes:
    lines = (json.dumps({"buffers": rows(draw, 2)}) for _ in range(500))
    return written("POST", "/v1/batch", "\n".join(lines).encode(), "application/x-ndjson")


def _batch_of_nothing(draw: random.Random) -> bytes:
    return written("POST", "/v1/batch", b"{}\n" * (15_000 + draw.randrange(99)), "application/x-ndjson")


def _order(draw: random.Random) -> bytes:
    buffers = [{"id": f"b{k}", "size": draw.randrange(1, 999)} for k in range(300)]
    body = [{"op": "a", "inputs": [f"b{draw.randrange(k)}"] if k else [], "outputs": [f"b{k}"]} for k in range(300)]
    operations = {"functions": {"main": {"buffers": buffers, "body": body, "results": ["b299"]}}}
    return posted("/v1/order", {"graph": operations, "options": {"time_limit_s": 0.3}})


def _swept(draw: random.Random) -> bytes:
    grid = [[{"buffer": k, "fields": {"size": draw.randrange(1, 1 << 20)}} for _ in range(90)] for k in range(2)]
    asked = {"problem": {"buffers": rows(draw, 20)}, "changes": grid, "options": {"time_limit_s": 0.3}}
    return posted("/v1/sweep", asked)


def _explained(draw: random.Random) -> bytes:
    buffers = rows(draw, 400)
    problem = {"buffers": buffers, "pools": [{"name": "a", "size": 1 << 21}]}
    return posted("/v1/explain", {"problem": problem, "options": {"time_limit_s": 0.3}})


def _job(draw: random.Random) -> bytes:
    return posted("/v1/jobs?time_limit_s=0.1", {"buffers": rows(draw, 700)})


def _escaped(draw: random.Random) -> bytes:
    return written("GET", "/v1/jobs?name=" + "%ff" * 15_000 + str(draw.random()))


def _long_path(draw: random.Random) -> bytes:
    return written("GET", "/v1/jobs/" + "%2e%2e%2f" * 5_000 + str(draw.random()))


def _page(draw: random.Random) -> bytes:
    return written("GET", "/openapi.json", headers=(("Cookie", "a=" + "b;" * 20_000 + str(draw.random())),))


FAMILIES: Mapping[str, Callable[[random.Random], bytes]] = {
    make.__name__.strip("_"): make
    for make in (
        *(_names_in_query, _capacities_in_query, _quoted_media, _accepted, _tags, _many_headers, _deep, _digits),
        *(_unknown_fields, _bank, _banks, _pools, _conflicts, _holes, _reserved, _random_problem, _calls),
        *(_compared_calls, _verified, _csv, _batch, _batch_of_nothing, _order, _swept, _explained, _job),
        *(_escaped, _long_path, _page),
    )
}
"""From a name to what draws one request of that family."""


def hostile_requests(draw: random.Random, count: int) -> Iterator[tuple[str, bytes]]:
    """Yield so many requests with the names of their families, each family as often as the others."""
    names = list(FAMILIES)
    order = [names[k % len(names)] for k in range(count)]
    draw.shuffle(order)
    for name in order:
        request = FAMILIES[name](draw)
        assert len(request) <= MOST_BYTES, (name, len(request))
        yield name, request
