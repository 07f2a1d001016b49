"""Calls of all capabilities, drawn: problems with up to three features, graphs, programs and files of all sizes."""

from __future__ import annotations

import json
import math
import random

from lab.support.heavy_bodies import Data, graph, of_file, of_problem, statements, written
from memplan.capabilities.registry import CAPABILITIES
from memplan.planner.formats import FORMATS
from memplan.solvers.portfolio import registry
from tests.support.feature_pairs import FEATURES, Case

_PLANS = 0.3
"""The part of the calls that are plans, whose way is one of its own."""
_EXAMPLES = frozenset({"shapes"})
"""The capabilities whose inputs are of a kind of their own."""


def drawn_call(
    draw: random.Random, fewest: int = 5, most: int = 100_000, limits: tuple[float, float] = (0.05, 3.0)
) -> tuple[str, bytes, float, str]:
    """Return the name of a capability, a body for it, its limit in seconds, and in a few words what it is about."""
    count = round(math.exp(draw.uniform(math.log(fewest), math.log(most))))
    limit_s = round(math.exp(draw.uniform(*map(math.log, limits))), 3)
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
    case = Case(frozenset(draw.sample(FEATURES, draw.choice((0, 1, 1, 2, 3)))), count, draw.randrange(2**30))
    return of_problem(name, json.loads(FORMATS["json"].write_problem(case.problem()))), str(case)
