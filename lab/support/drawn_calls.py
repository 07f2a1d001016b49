"""Random requests for all questions, with inputs of every kind and size and with any options that schemas allow."""

import json
import math
import random
from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from lab.support.feature_pairs import FEATURES, Case
from lab.support.heavy_bodies import Data, body_bytes, file_body, graph, problem_body, statements
from memplan.api.request_bodies import JSON
from memplan.api.requests import head_of, parse_request
from memplan.planner.errors import InputError
from memplan.planner.formats import FORMATS
from memplan.planner.model.problem import Problem
from memplan.questions import QUESTIONS
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Control
from tests.runtimes import foreign_files
from tests.runtimes.litert_models import random_model
from tests.support import symbolic
from tests.support.meeting_kinds import KINDS
from tests.support.meeting_kinds import draw as drawn_kinds
from tests.support.operation_graphs import random_graph
from tests.support.random_programs import random_program

_PLANS = 0.3
"""The fraction of requests for plans, which the service handles separately from other questions."""
_SMALL, _OF_KINDS = 12, 4
"""The size limit of random inputs with all features, and the number of constraint kinds that a problem combines."""
_MOST_DRAWN = 5_000
"""The maximum number of elements of graphs and symbolic problems; schedules have at most a tenth of this number."""
_OPTIONS = 0.2
"""The probability with which each option is set."""
_TRIES = 5
"""The maximum number of attempts to find options that are valid together and for the inputs."""
_TEXTS: Mapping[str, tuple[Any, ...]] = {
    "accept": ("fit", "0", "5%", "1024"),
    "budgets": ("1MiB", "64KiB", "500"),
    "tolerance": ("0", "5%", "64"),
    "profile": ("balanced+10%",),
    "subject": ("model.json",),
    "capacity": ("64KiB", "1MiB"),
    "prefix": ("net_",),
    "section": (".sram", ".bss"),
}
"""Maps string options to possible values; other string options refer to parts of an input and stay unset."""
_LONGEST = 1000


def draw_call(
    draw: random.Random,
    fewest: int = 5,
    most: int = 100_000,
    limits: tuple[float, float] = (0.05, 3.0),
    name: str | None = None,
) -> tuple[str, bytes, float, str]:
    """Return a random request: the question's name, the body, the time limit in seconds and a description."""
    count = round(math.exp(draw.uniform(math.log(fewest), math.log(most))))
    limit_s = round(math.exp(draw.uniform(*map(math.log, limits))), 3)
    name = name or ("plan" if draw.random() < _PLANS else draw.choice(sorted(QUESTIONS)))
    content, words = draw_inputs(draw, name, count)
    its_own = content.pop("options", {})
    for _ in range(_TRIES):
        options = its_own | draw_options(draw, name)
        if _is_accepted(name, content | {"options": options}):
            break
    else:
        options = its_own
    told = "".join(f", {key} {value}" for key, value in options.items() if key != "name")
    return name, body_bytes(content | {"options": options}, limit_s), limit_s, f"{words}{told}"


def example(name: str) -> Data:
    """Return a valid example body of a question, as an object that maps input names to values."""
    content: Data = json.loads(json.dumps(QUESTIONS[name].example))
    inputs = QUESTIONS[name].inputs
    return content if content.keys() & {each.name for each in inputs} else {inputs[0].name: content}


def draw_options(draw: random.Random, name: str) -> Data:
    """Return random options of a question that each fit its schema; their combination may be refused."""
    properties = _options_schema(name)["properties"]
    found = {}
    for option, schema in properties.items():
        if option not in ("time_limit_s", "name") and draw.random() < _OPTIONS:
            value = _draw_value(draw, option, schema)
            if value is not None:
                found[option] = value
    return found


def _is_accepted(name: str, content: Data) -> bool:
    """Return True if a request with these inputs and options would be accepted."""
    try:
        asked = parse_request(name, head_of(JSON, ""), json.dumps(content).encode())
        if asked.question.check is not None and not asked.is_foreign:
            asked.question.check(asked.input_values(), asked.options)
    except InputError:
        return False
    return True


@cache
def _options_schema(name: str) -> Data:
    return QUESTIONS[name].options.model_json_schema()


def _draw_value(draw: random.Random, option: str, schema: Data) -> Any:
    """Return a random value that fits a schema; None if this module cannot generate one for the option."""
    if "anyOf" in schema:
        return _draw_value(draw, option, draw.choice(schema["anyOf"]))
    if "const" in schema or "enum" in schema:
        return draw.choice(schema.get("enum", [schema.get("const")]))
    kind = schema.get("type")
    if kind == "boolean":
        return draw.random() < 0.5
    if kind in ("integer", "number"):
        bounds: Data = {"minimum": 1, "maximum": _LONGEST} | _bounds(schema)
        least, most = float(bounds["minimum"]), float(min(_LONGEST, bounds["maximum"]))
        value = least + (most - least) * draw.random() ** 4
        if kind == "integer":
            return max(math.ceil(value), int(least) + ("exclusiveMinimum" in schema))
        return round(value, 6) or 1e-6
    if kind == "array" and {"items", "minLength"} & schema.keys():
        drawn = (_draw_value(draw, option, schema["items"]) for _ in range(draw.randint(1, 3)))
        return [*dict.fromkeys(each for each in drawn if isinstance(each, int | str))] or None
    return draw.choice(_TEXTS[option]) if kind == "string" and option in _TEXTS else None


def _bounds(schema: Data) -> Data:
    names = {"ge": "minimum", "le": "maximum", "exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
    return {names.get(name, name): value for name, value in schema.items()}


def draw_inputs(draw: random.Random, name: str, count: int) -> tuple[Data, str]:
    """Return random inputs of a question with about `count` elements, and a short description of them."""
    first = QUESTIONS[name].inputs[0].name
    if draw.random() < 0.1:
        return example(name), "its example"
    if name in _MADE:
        return _MADE[name](draw, count)
    if first == "graph" or (name == "explain" and draw.random() < 0.3):
        more = {"capacity": 2 ** draw.randint(4, 20)} if name == "explain" else {}
        return {"graph": _draw_graph(draw, max(2, count // 3))} | more, f"{max(2, count // 3)} operations"
    return _problem_inputs(draw, name, count)


def _problem_inputs(draw: random.Random, name: str, count: int) -> tuple[Data, str]:
    """Return random inputs of a question about a problem of about `count` buffers, and their description."""
    if count <= _SMALL:
        problem, kinds = drawn_kinds(draw, draw.sample([*KINDS], draw.randint(1, _OF_KINDS)))
        words = ", ".join(kinds)
    else:
        case = Case(frozenset(draw.sample(FEATURES, draw.choice((0, 1, 1, 2, 3)))), count, draw.randrange(2**30))
        problem, words = case.problem(), str(case)
    content: Data = json.loads(FORMATS["json"].write_problem(problem))
    pool = problem.pools[0].name if problem.pools else "default"
    body = problem_body(name, content)
    if name == "sweep":
        buffer = draw.choice(content["buffers"])["id"]
        changes = [[{"buffer": buffer, "fields": {"size": draw.randint(1, 64)}}] for _ in range(draw.randint(1, 3))]
        sizes = {pool: {"first": 64, "last": 64 * draw.randint(1, 8), "step": 64}}
        body = {"problem": content} | draw.choice(({"sizes": sizes}, {"changes": changes}))
    elif name in ("verify", "check", "convert") or (name in ("plan", "certify") and draw.random() < 0.2):
        body |= {"keep" if name == "plan" else "plan": _draw_plan(draw, problem, body.get("plan"))}
    if name == "check" and draw.random() < 0.5:
        body |= {
            "baseline": {"problem": content, "plan": _draw_plan(draw, problem, problem_body("verify", content)["plan"])}
        }
    if name == "check" and draw.random() < 0.5:
        del body["plan"]
    return {key: value for key, value in body.items() if value is not None}, words


def _draw_plan(draw: random.Random, problem: Problem, other: Data | None = None) -> Data | None:
    """Return a quick search's plan as JSON; in a fifth of cases, or if none is found, the wrong plan `other`."""
    if other is not None and draw.random() < 0.2:
        return other
    found = solve(problem, SolveOptions(solver="greedy"), control=Control.from_limit(1.0))
    content: Data = found.model_dump(mode="json", exclude_defaults=True)
    return content if found.placements else other


def _draw_graph(draw: random.Random, count: int) -> Data:
    if count <= _MOST_DRAWN and draw.random() < 0.5:
        found: Data = random_graph(draw, count).model_dump(mode="json", exclude_defaults=True, by_alias=True)
        return found
    return graph(count, draw.randrange(2**30))


def _draw_convolutions(draw: random.Random, count: int) -> tuple[Data, str]:
    """Return a random network of convolutions, in which two operations may read the same tensor."""
    side, channels = draw.choice((8, 16, 32)), [draw.choice((1, 3, 8)) for _ in range(max(3, count // 3))]
    shapes, ops = [[1, side, side, channels[0]]], []
    for made in channels[1:]:
        read = draw.choice((len(shapes) - 1, len(shapes) - 1, max(0, len(shapes) - 2)))
        kernel = draw.choice((1, 3)) if shapes[read][1] > 3 else 1
        side = shapes[read][1] - kernel + 1
        ops.append({"in": [read], "out": [len(shapes)], "kind": "conv2d", "attributes": {"kernel": [kernel, kernel]}})
        shapes.append([1, side, side, made])
    tensors = [{"shape": shape, "dtype": "int8"} for shape in shapes]
    size = [math.prod(shape) for shape in shapes]
    return {
        "graph": {"size": size, "kept": [len(size) - 1], "tensors": tensors, "ops": ops}
    }, f"{len(ops)} convolutions"


def _draw_schedule(draw: random.Random, count: int) -> tuple[Data, str]:
    network, words = _draw_convolutions(draw, max(2, min(_MOST_DRAWN, count) // 10))
    memories = [{"name": "L1", "capacity": draw.choice((2_048, 16_384, 65_536)), "alignment": 16}, {"name": "L2"}]
    engine = {"native": draw.choice(([1, 1], [8, 4])), "rate": draw.choice((8, 256)), "copies": draw.choice((1, 2))}
    target = {"memories": memories, "links": [{"bandwidth": 8, "latency": draw.choice((0, 40))}], "engine": engine}
    return {"problem": network["graph"], "target": target}, words


def _draw_statements(draw: random.Random, count: int) -> tuple[Data, str]:
    if count <= _SMALL:
        return {"operations": random_program(draw.randrange(2**30))}, "a small program"
    return {"operations": statements(count)}, f"{count} statements"


def _symbolic_inputs(draw: random.Random, count: int) -> tuple[Data, str]:
    """Return a random problem with symbolic sizes of up to `count` buffers, and a description of it."""
    seed = draw.randrange(2**30)
    if count <= _SMALL:
        return {"problem": symbolic.draw_ruled_problem(seed)}, "a small problem with symbols"
    return {
        "problem": _json_value(symbolic.draw_problem(seed, min(count, _MOST_DRAWN)))
    }, f"up to {count} buffers of symbols"


def _draw_file(draw: random.Random, count: int) -> tuple[Data, str]:
    """Return a question's inputs, and their description: a file of the project, or a table of `count` buffers."""
    if draw.random() < 0.5:
        name, data = draw.choice(_files())
        return {"file": b64encode(data).decode(), "options": {"name": name}}, name
    return file_body(count), f"{count} rows"


def _draw_model(draw: random.Random, count: int) -> tuple[Data, str]:
    """Return inputs and their description: a random TFLite model of `count` operators, or another file."""
    if draw.random() < 0.5:
        return _draw_file(draw, count)
    data = random_model(draw.randrange(2**30), count, has_plan=draw.random() < 0.5)
    return {"file": b64encode(data).decode(), "options": {"name": "drawn.tflite"}}, f"a model of {count} operators"


def _convert_inputs(draw: random.Random, count: int) -> tuple[Data, str]:
    """Return random inputs of the question `convert`, a file or a problem, and a description of them."""
    return _draw_file(draw, count) if draw.random() < 0.5 else _problem_inputs(draw, "convert", count)


@cache
def _files() -> list[tuple[str, bytes]]:
    """Return (path, bytes) of each small file of the project that memplan can read; they are read only once."""
    return [*foreign_files.files()]


def _json_value(model: Any) -> Any:
    """Return a pydantic model as a JSON value, without the fields that have their defaults."""
    return json.loads(model.model_dump_json(exclude_defaults=True))


_MADE: Mapping[str, Callable[[random.Random, int], tuple[Data, str]]] = {
    "cascade": _draw_convolutions,
    "schedule": _draw_schedule,
    "liveness": _draw_statements,
    "shapes": _symbolic_inputs,
    "compare": _draw_model,
    "convert": _convert_inputs,
}
