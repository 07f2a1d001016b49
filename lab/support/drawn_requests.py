"""Random HTTP requests: most contain small errors in target, query, headers and body; some are floods.

A flood is a body of at most 64 KB that costs far more to process than to send: long lists, deep nesting or all pairs of
buffers.
"""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lab.support.heavy_bodies import bank, graph, problem
from memplan.api.http.openapi import PROBLEM_EXAMPLE
from memplan.planner.systems import file_readers
from memplan.questions import QUESTIONS

Drawn = tuple[str, bytes]
"""(method and path, for reports; raw bytes of an HTTP request)."""
_NUMBERS = (0, 1, -1, 2, 7, 64, 2**31, 2**32 - 1, 2**53 + 1, 2**62, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30)
_ODD: Sequence[Callable[[random.Random], Any]] = (
    lambda draw: draw.choice(_NUMBERS),
    lambda draw: draw.choice((0.5, 1e308, 5e-324, -0.0, 8.0, 1e18, float("inf"), float("nan"))),
    lambda draw: draw.choice((None, True, False, "", {}, [], [[]], [{}], {"": {}})),
    lambda draw: draw.choice(("\x00", "\ud800", "é", "x" * 5000, "\u202e", "../../x", "1", "conv1", "default", "%00")),
    lambda draw: "".join(chr(draw.randrange(1, 0x3000)) for _ in range(draw.randrange(20))),
    lambda draw: [[draw.choice(_NUMBERS), draw.choice(_NUMBERS)] for _ in range(draw.randrange(4))],
)
_FIELDS: Mapping[str, Callable[[random.Random], Any]] = {
    "pools": lambda draw: [{"name": name, "size": draw.choice((*_NUMBERS, None))} for name in draw.choice(("a", "ab"))],
    "conflicts": lambda draw: [[draw.choice(("conv1", "conv2", "no")), "conv2"]],
    "may_share": lambda draw: [[draw.choice(("conv1", "conv2")), "conv2"]],
    "together": lambda draw: [{"buffers": ["conv1", draw.choice(("conv2", "conv1", "no"))]}],
    "bank": lambda draw: [{"buffers": ["conv1", "conv2"], "weight": draw.choice(_NUMBERS)}],
    "objective": lambda draw: draw.choice(("peak", "fit", "cost", "no")),
}
_OF_BUFFERS: Mapping[str, Callable[[random.Random], Any]] = {
    "alignment": lambda draw: draw.choice((1, 2, 3, 16, 64, 2**40)),
    "offset": lambda draw: draw.choice(_NUMBERS),
    "pools": lambda draw: draw.choice((["a"], [], ["a", "a"], ["a", "b"])),
    "lifetimes": lambda draw: [[0, draw.randrange(4)], [draw.randrange(9), 9]],
    "traffic": lambda draw: draw.choice(_NUMBERS),
}
_NAMES = (
    *("time_limit_s", "solver", "accept", "seed", "deterministic", "format", "capacity", "kind", "priority", "limit"),
    *("deadline_s", "state", "name", "problem_hash", "after", "compare", "dims", "alignment", "views"),
)
_VALUES = (
    *("0.1", "0.05", "auto", "greedy", "exact", "cp-sat", "tflm", "optimal", "gap<=0.1", "1", "-1", "0", "true", "nan"),
    *("json", "csv", "plan", "order", "verify", "queued", "64", "p=64", "1e400", "9" * 5000, "%00", "%ff", "", "+"),
)
_MEDIA = ("application/json", "text/csv", "application/x-ndjson", "application/octet-stream", "text/plain", "*/*", "x")
_PARAMETERS = ("", ";charset=utf-8", ";charset=utf-7", ";charset*=%00''x", ';a="', ";;;", '; q="\\"";b', "; boundary=x")
_HEADERS: Mapping[str, Sequence[str]] = {
    "Accept": ("application/json", "text/csv;q=0.5,*/*", "text/plain;q=9", ",;q=;", "image/png", "q=0" * 900),
    "Content-Encoding": ("identity", "gzip", "", "br, gzip"),
    "Idempotency-Key": ("a", "b", "", "x" * 201, "\xe9", "a b"),
    "Last-Event-ID": ("0", "1", "-1", "9" * 20, "x", "\xb2"),
    "If-None-Match": ("*", '"x"', "W/", ",,,", '"' * 500, 'W/"0",' * 6000),
    "X-Request-ID": ("mine", "a b", "\xff", "x" * 65),
    "Authorization": ("Bearer x", "Bearer", "Basic eDp5", "bearer  ", "Bearer " + "x" * 7000),
    "Origin": ("http://localhost", "null", "http://evil.example", "://", "\xff"),
    "Host": ("localhost", "127.0.0.1", "[::1]", "[", "a?b", "evil.example", "", "x:99999", "\xff"),
    "Expect": ("100-continue", "x"),
    "Connection": ("close", "keep-alive", "upgrade"),
    "Range": ("bytes=0-1", "x"),
    "Cookie": ("a=b", "a=" + "b;" * 20_000),
    "X-Forwarded-For": ("1.2.3.4", "x"),
    "Transfer-Encoding": ("identity", "gzip, chunked", "x"),
    "Content-Length": ("0", "1", "-1", "999999999999", "+5", "x"),
}
_PATHS = (
    *("/", "/docs", "/healthz", "/readyz", "/metrics", "/openapi.json", "/v1/solvers", "/static/page.js", "/v1", "//"),
    *("/v1/jobs", *("/v1/jobs/{}", "/v1/jobs/{}/events", "/v1/jobs/{}/plan", "/v1/jobs/{}/result", "/v1/plans/{}") * 3),
)
_IDS = ("x", "%00", "..", "%2e%2e%2f" * 5000, "\x7f", "0" * 36, "sha256:" + "0" * 64, "é")
_FLOODS: Mapping[str, Callable[[random.Random], tuple[str, Any]]] = {
    "names in a query": lambda draw: ("plan?" + "&".join(str(draw.randrange(36)) for _ in range(20_000)), {}),
    "nesting": lambda draw: ("plan", b"[" * draw.randrange(29_000, 30_000)),
    "digits": lambda draw: ("plan", b'{"buffers":[{"id":1,"size":%s}]}' % (b"9" * draw.randrange(49_000, 50_000))),
    "fields": lambda draw: ("plan", {f"{draw.random()}": k for k in range(2500)}),
    "a bank": lambda draw: ("plan", {"problem": bank(600, draw.randrange(2**30))}),
    "pools": lambda _: ("plan", problem(50) | {"pools": [{"name": f"{k}"} for k in range(999)]}),
    "ranges": lambda _: ("plan", problem(9) | {"pools": [{"reserved": [[64 * k, 9] for k in range(3000)]}]}),
    "conflicts": lambda _: ("plan", problem(100) | {"conflicts": [[i, k] for i in range(100) for k in range(i)]}),
    "operations": lambda draw: ("order", {"graph": graph(900, draw.randrange(2**30))}),
    "empty lines": lambda draw: ("batch", b"{}\n" * draw.randrange(14_000, 15_000)),
}


def draw_request(draw: random.Random, job_ids: Sequence[str]) -> Drawn:
    """Return a random request; `job_ids` are ids of jobs that exist on the server."""
    kind = draw.random()
    if kind < 0.15:
        path = draw.choice(_PATHS).format(draw.choice((*job_ids, *_IDS)))
        method = draw.choice(("GET",) * 12 + ("DELETE", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "BREW"))
        return f"{method} {path[:40]}", _request_bytes(draw, method, path + _random_query(draw, 0.5), b"", "")
    if kind < 0.25:
        name = draw.choice(sorted(_FLOODS))
        path, content = _FLOODS[name](draw)
        media = "application/x-ndjson" if path == "batch" else "application/json"
        body = content if isinstance(content, bytes) else json.dumps(content, separators=(",", ":")).encode()
        return f"flood: {name}", _request_bytes(draw, "POST", f"/v1/{path}", body, media)
    path, content, media = _batch_call(draw) if kind < 0.3 else _valid_call(draw)
    for _ in range(draw.choice((0, 0, 0, 1, 1, 2, 4))):
        content = _change_json(draw, content)
    body = content if isinstance(content, bytes) else _json_bytes(draw, content)
    body = _damage_bytes(draw, body) if draw.random() < 0.1 else body
    media = draw.choice(_MEDIA) + draw.choice(_PARAMETERS) if draw.random() < 0.05 else media
    method = draw.choice(("POST",) * 60 + ("PUT", "GET"))
    return f"POST {path}", _request_bytes(draw, method, path + _random_query(draw, 0.15), body, media)


def _valid_call(draw: random.Random) -> tuple[str, Any, str]:
    """Return the path of a random endpoint, a valid body for it, and the media type of the body."""
    name = draw.choice((*("plan",) * 6, "verify", *QUESTIONS))
    if name == "plan":
        if draw.random() < 0.1:
            cells = ("".join(draw.choices('0123,,,\n"x-', k=40)) for _ in range(5))
            return "/v1/plan", ("id,lower,upper,size\n" + "\n".join(cells)).encode(), "text/csv"
        content: Any = {"problem": _draw_problem(draw)}
    elif name == "verify":
        offsets = [draw.choice((*_NUMBERS, 0, 0, 401_408)) for _ in range(2)]
        placements = [{"id": f"conv{k + 1}", "pool": "default", "offset": at} for k, at in enumerate(offsets)]
        content = {"problem": _draw_problem(draw), "plan": {"placements": placements}}
    else:
        content = json.loads(json.dumps(QUESTIONS[name].example))
        if "file" in content and draw.random() < 0.5:
            return f"/v1/{name}?time_limit_s=0.5", draw.randbytes(draw.randrange(200)), "application/octet-stream"
    content.setdefault("options", {})["time_limit_s"] = draw.choice((0.01, 0.05, 0.1, 0.3))
    if "file" in content:
        content["options"]["name"] = f"x.{draw.choice((*file_readers(), 'onnx', 'json', 'csv'))}"
    path = f"/v1/jobs?kind={name}" if name != "verify" and draw.random() < 0.25 else f"/v1/{name}"
    return path, content, "application/json"


def _draw_problem(draw: random.Random) -> Any:
    """Return a problem as JSON values, with random further buffers and sometimes random, possibly invalid fields."""
    problem: Any = json.loads(json.dumps(PROBLEM_EXAMPLE))
    for k in range(draw.choice((0, 0, 3, 20))):
        start = draw.randrange(9)
        problem["buffers"].append({"id": k, "size": draw.randrange(1, 999), "start": start, "end": start + 2})
    for fields, into in ((_FIELDS, problem), (_OF_BUFFERS, draw.choice(problem["buffers"]))):
        for name in draw.sample(sorted(fields), draw.choice((0, 0, 1, 2))):
            into[name] = fields[name](draw)
    return problem


def _batch_call(draw: random.Random) -> tuple[str, Any, str]:
    lines = [_json_bytes(draw, {"id": k, "problem": _draw_problem(draw)}) for k in range(draw.randrange(4))]
    if draw.random() < 0.3:
        return "/v1/batch", b'{"submissions":[' + b",".join(lines) + b"]}", "application/json"
    return "/v1/batch", b"\n".join(lines), "application/x-ndjson"


def _random_query(draw: random.Random, chance: float) -> str:
    """Return a URL's query of up to three random parameters with probability `chance`, or else ""."""
    pairs = [f"{draw.choice(_NAMES)}={draw.choice(_VALUES)}" for _ in range(draw.choice((0, 1, 2, 3)))]
    return "?" + "&".join(pairs) if draw.random() < chance else ""


def _change_json(draw: random.Random, content: Any) -> Any:
    """Return a copy of JSON in which one value is replaced, removed, repeated or overwritten by another value."""
    places = [(content, key) for key in _json_keys(content)]
    for parent, key in places:
        if len(places) < 3000:
            places += [(parent[key], inner) for inner in _json_keys(parent[key])]
    if not places:
        return content
    parent, key = draw.choice(places)
    action = draw.random()
    if action < 0.6:
        parent[key] = draw.choice(_ODD)(draw)
    elif action < 0.75:
        del parent[key]
    elif action < 0.85 and isinstance(parent, list):
        parent += [parent[key]] * draw.choice((1, 1, 30))
    else:
        other, from_ = draw.choice(places)
        parent[key] = json.loads(json.dumps(other[from_]))
    return content


def _json_keys(content: Any) -> list[Any]:
    """Return the keys of a JSON object, the positions of a JSON array, or [] for any other value."""
    return (
        list(content) if isinstance(content, dict) else list(range(len(content))) if isinstance(content, list) else []
    )


def _json_bytes(draw: random.Random, content: Any) -> bytes:
    """Return a value as JSON bytes, sometimes with a repeated key."""
    text = json.dumps(content, ensure_ascii=draw.random() < 0.7, separators=(",", ":"))
    if draw.random() < 0.03 and text.startswith("{"):
        text = '{"buffers":[],' + text[1:]
    return text.encode("utf-8", "surrogatepass")


def _damage_bytes(draw: random.Random, body: bytes) -> bytes:
    """Return a copy of a body with one to three random bytes changed, removed or inserted, or with its end cut off."""
    found = bytearray(body)
    for _ in range(draw.randrange(1, 4)):
        at, action = draw.randrange(len(found) + 1), draw.randrange(4)
        if action == 0 and found:
            found[min(at, len(found) - 1)] = draw.randrange(256)
        elif action == 1:
            del found[at : at + draw.randrange(1, 9)]
        elif action == 2:
            found[at:at] = draw.choice((b"\x00", b"\xff", b"[" * 200, b"{", b'"', b"1e999", b"\xef\xbb\xbf", b"\r\n"))
        else:
            del found[at:]
    return bytes(found)


def _request_bytes(draw: random.Random, method: str, target: str, body: bytes, media: str) -> bytes:
    """Return the bytes of an HTTP request, sometimes with invalid headers, and sometimes with its body in chunks."""
    said = {"Host": "localhost", "Connection": "close"}
    if body and draw.random() < 0.1:
        said["Transfer-Encoding"] = "chunked"
        size = draw.randrange(1, len(body) + 1)
        parts = [body[at : at + size] for at in range(0, len(body), size)]
        body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (*parts, b""))
    elif body or method == "POST":
        said["Content-Length"] = str(len(body))
    if media:
        said["Content-Type"] = media
    for name in draw.sample(sorted(_HEADERS), draw.choice((0, 0, 0, 0, 1, 1, 3))):
        if name not in ("Transfer-Encoding", "Content-Length", "Connection") or draw.random() < 0.2:
            said[name] = draw.choice(_HEADERS[name])
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in said.items())]
    return "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n" + body
