"""Calls of all capabilities, drawn: problems with up to three features, graphs, programs and files of all sizes."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable

from lab.support.heavy_bodies import Data, Rows, graph, of_file, of_problem, statements, written
from memplan.capabilities.registry import CAPABILITIES
from memplan.solvers.portfolio import registry

_PLANS = 0.3
"""The part of the calls that are plans, whose way is one of its own."""
_EXAMPLES = frozenset({"deploy", "limits", "objects", "shapes"})
"""The capabilities whose inputs are of a kind of their own."""


def _sized(draw: random.Random, count: int) -> Rows:
    length = draw.choice((3, 10, count // 10 + 2))
    starts = (draw.randrange(count) for _ in range(count))
    size = draw.choice((2**10, 2**20, 2**40))
    return [
        {"id": k, "size": draw.randrange(1, size), "start": start, "end": start + draw.randrange(1, length)}
        for k, start in enumerate(starts)
    ]


def _aligned(draw: random.Random, data: Data) -> None:
    for row in data["buffers"]:
        row["alignment"] = draw.choice((1, 16, 64, 100))


def _several_pools(draw: random.Random, data: Data) -> None:
    total = sum(row["size"] for row in data["buffers"])
    data["pools"] = [{"name": "a", "size": total // draw.choice((3, 10, 50)) + 1}, {"name": "b", "cost": 2.0}]
    data["objective"] = draw.choice(("peak", "fit", "cost"))


def _limited(draw: random.Random, data: Data) -> None:
    data["pools"] = [{"name": "a", "size": sum(row["size"] for row in data["buffers"]) // draw.choice((1, 3, 10)) + 1}]


def _with_holes(draw: random.Random, data: Data) -> None:
    for row in draw.sample(data["buffers"], max(1, len(data["buffers"]) // 4)):
        low, high = row.pop("start"), row.pop("end")
        row["lifetimes"] = [[low, high], *([high + 2 * k, high + 2 * k + 1] for k in range(1, draw.randrange(2, 20)))]


def _conflicting(draw: random.Random, data: Data) -> None:
    count, wanted = len(data["buffers"]), draw.choice((10, 1_000, 20_000))
    pairs = {tuple(sorted(draw.sample(range(count), 2))) for _ in range(min(wanted, count * (count - 1) // 4))}
    data["conflicts"] = sorted(map(list, pairs))


def _reserved(draw: random.Random, data: Data) -> None:
    pools = data.setdefault("pools", [{"name": "a"}])
    pools[0]["reserved"] = [
        [200 * k + draw.randrange(50), 1 + draw.randrange(60)] for k in range(draw.choice((3, 500)))
    ]


def _pinned(draw: random.Random, data: Data) -> None:
    for row in draw.sample(data["buffers"], max(1, len(data["buffers"]) // 50)):
        row["hint" if draw.random() < 0.8 else "offset"] = draw.randrange(2**30)


def _sharing(draw: random.Random, data: Data) -> None:
    ids = range(len(data["buffers"]))
    data["may_share"] = [draw.sample(ids, 2) for _ in range(min(200, len(ids) // 3))]


def _relative(draw: random.Random, data: Data) -> None:
    ids = list(range(len(data["buffers"])))
    draw.shuffle(ids)
    for k in range(0, min(200, len(ids) // 2), 2):
        data["buffers"][ids[k]]["relative"] = {"to": ids[k + 1], "offset": draw.randrange(-64, 64)}


def _banked(draw: random.Random, data: Data) -> None:
    data.setdefault("pools", [{"name": "a"}])[0]["bank_size"] = 4096
    ids = range(len(data["buffers"]))
    data["bank"] = [{"buffers": draw.sample(ids, min(4, len(ids)))} for _ in range(20)]


FEATURES: tuple[Callable[[random.Random, Data], None], ...] = (
    *(_aligned, _several_pools, _limited, _with_holes, _conflicting),
    *(_reserved, _pinned, _sharing, _relative, _banked),
)


def drawn_call(draw: random.Random, fewest: int = 5, most: int = 100_000) -> tuple[str, bytes, float, str]:
    """Return the name of a capability, a body for it, its limit in seconds, and in a few words what it is about."""
    count = round(math.exp(draw.uniform(math.log(fewest), math.log(most))))
    limit_s = round(math.exp(draw.uniform(math.log(0.05), math.log(3.0))), 3)
    name = "plan" if draw.random() < _PLANS else draw.choice(sorted(CAPABILITIES))
    content, words = _content(draw, name, count)
    if name == "plan" and draw.random() < 0.4:
        solver = draw.choice([row.name for row in registry.SOLVERS])
        content, words = content | {"options": {"solver": solver}}, f"{solver} {words}"
    return name, written(content, limit_s), limit_s, words


def example(name: str) -> Data:
    """Return a body of a capability that is right, as an object of its inputs."""
    content: Data = json.loads(json.dumps(CAPABILITIES[name].example))
    inputs = CAPABILITIES[name].inputs
    return content if content.keys() & {each.name for each in inputs} else {inputs[0].name: content}


def _content(draw: random.Random, name: str, count: int) -> tuple[Data, str]:
    first = CAPABILITIES[name].inputs[0].name
    if name in _EXAMPLES:
        return example(name), "its example"
    if first == "file":
        return of_file(count), f"{count} rows"
    if first == "graph" or (name == "explain" and draw.random() < 0.3):
        more = {"capacity": 2**20} if name == "explain" else {}
        return {"graph": graph(max(2, count // 3))} | more, f"{count // 3} operations"
    if first == "operations":
        return example(name) | {"operations": statements(count)}, f"{count} statements"
    problem: Data = {"buffers": _sized(draw, count), "pools": [{"name": "sram"}]}
    chosen = draw.sample(FEATURES, draw.choice((0, 1, 1, 2, 3)))
    for feature in chosen:
        feature(draw, problem)
    words = " ".join(feature.__name__.strip("_") for feature in chosen)
    return of_problem(name, problem), f"{count} {words}".strip()
