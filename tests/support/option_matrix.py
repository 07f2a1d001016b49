"""Example files for each question, and effective values of every reading option."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from memplan.planner.errors import InputError
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.model.problem import Problem
from memplan.questions import QUESTIONS
from memplan.questions.inputs.values import read_inputs
from memplan.questions.question import Control, Question
from memplan.questions.reading import Reader, ReadOptions, add_reading_facts, validate_options
from tests.support.values import buffer_rows

_TESTS = Path(__file__).parents[1]
_UNTOLD = {"wall_time_s", "search_s", "read_with", "stop_reason"}
"""The fields of answers that differ between runs, and the field that repeats the options."""
ROWS = buffer_rows(a=(64, 0, 2), b=(48, 1, 4), c=(32, 4, 6))
PROBLEM: dict[str, Any] = {"buffers": ROWS}
_CALLS = ("relu", "x", "a"), ("tanh", "a", "b"), ("matmul", "bw", "y")
_BODY = [{"op": name, "inputs": [*reads], "outputs": [makes]} for name, reads, makes in _CALLS]
_TENSORS = [*({"id": name, "size": 64} for name in "xaby"), {"id": "w", "size": 128}]
_MAIN = {"params": ["x"], "results": ["y"], "constants": ["w"], "buffers": _TENSORS, "body": _BODY}
PROGRAM = {"order": "tentative", "functions": {"main": _MAIN}}
_KINDS = ("relu", "tanh", "matmul")
_OPS = [{"in": [k] if k < 2 else [k, 4], "out": [k + 1], "kind": kind} for k, kind in enumerate(_KINDS)]
GRAPH = {"size": [64, 64, 64, 64, 128], "kept": [3], "resident": [4], "ops": _OPS}
_CHAIN = (
    "08083a5c0a0c0a0178120161220452656c750a0f0a016112016222075369676d6f69640a0c0a0162120179220454616e681201675a"
    "140a0178120f0a0d080112090a0208010a0308800862140a0179120f0a0d080112090a0208010a0308800842040a001011"
)
"""A model in ONNX: Relu, Sigmoid and Tanh of 1,024 numbers."""
_ACTIONS = ("alloc", 0), ("alloc", 512), ("free_completed", 0), ("alloc", 1024)
_TRACE = [{"action": name, "addr": at, "size": 512} for name, at in _ACTIONS]
_SNAPSHOT = {"segments": [], "device_traces": [_TRACE]}


class Example(NamedTuple):
    """A file: its name and bytes, sizes of dimensions that it needs, other sizes for the option, and an operator."""

    name: str
    data: bytes
    dims: Mapping[str, int] = {}
    other_dims: Mapping[str, int] = {"no_such": 2}
    scratch: str = "no_such"


def _json_example(name: str, value: object) -> Example:
    return Example(name, json.dumps(value).encode())


def _file_example(path: str, *others: Any) -> Example:
    return Example(Path(path).name, (_TESTS / path).read_bytes(), *others)


EXAMPLES: Mapping[str, Example] = {
    "json": _json_example("p.json", PROBLEM),
    "csv": Example("p.csv", b"id,lower,upper,size\na,0,2,64\nb,1,4,48\nc,4,6,32\n"),
    "program": _json_example("r.json", PROGRAM),
    "graph": _json_example("g.json", GRAPH),
    "application": _json_example("s.json", {"models": {"m": PROBLEM, "n": PROGRAM}, "together": []}),
    "objects": _json_example("o.json", {"kind": "objects", **PROBLEM}),
    "tflite": _file_example("models/view.tflite", {}, {"no_such": 2}, "ADD"),
    "onnx": Example("m.onnx", bytes.fromhex(_CHAIN), scratch="Relu"),
    "executorch": _file_example("models/split_cat.pte", {}, {"no_such": 2}, "aten::cat"),
    "stablehlo": _file_example("dumps/attention.stablehlo.mlir", {"b": 1, "n": 4}, {"b": 2, "n": 4}, "dot_general"),
    "relax": _file_example("dumps/mlp_values.relax"),
    "ggml": _file_example("models/ggml/lenet.json"),
    "xla": _file_example("dumps/cond.hlo.pb"),
    "xla-text": _file_example("dumps/cond.xla.txt"),
    "iree": _file_example("dumps/zfnet512.iree.txt"),
    "torch-snapshot": _json_example("t.json", _SNAPSHOT),
}
"""By format, a file that questions read; each has several buffers, some of which are alive one after another."""
_FILES = {"problem", "graph", "file", "operations"}


def ask_with_files(
    question: Question[Any], files: Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[Any, Any, list[str]]:
    """Return a written answer without times, the inputs as they were read, and the reader's warnings.

    An input is an Example, read as a file, or a JSON value. Raises MemplanError.
    """
    own = {name: value for name, value in options.items() if name in question.options.model_fields}
    read_with = {name: value for name, value in options.items() if name in ReadOptions.model_fields}
    reader = Reader(validate_options(ReadOptions, read_with))

    def read(each: Any, sent: Any, values: Mapping[str, Any], files: Reader) -> Any:
        is_file = isinstance(sent, Example)
        return each.from_file(files, sent.data, sent.name, values) if is_file else each.from_json(sent)

    values = read_inputs(question.inputs, files, read, reader)
    answer = add_reading_facts(
        question.answer_verified(values, validate_options(question.options, own), Control()), reader
    )
    warnings = sorted({each.message for each in reader.warnings})
    return _timeless_parts(json.loads(question.write(answer))), values, warnings


def _timeless_parts(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _timeless_parts(each) for name, each in value.items() if name not in _UNTOLD}
    return [_timeless_parts(each) for each in value] if isinstance(value, list) else value


def options_of(question: Question[Any]) -> set[str]:
    models = [each.reading for each in question.inputs if each.reading is not None and each.from_file is not None]
    names = {name for model in models for name in model.model_fields}
    return names | ({*question.options.model_fields} & {*ReadOptions.model_fields})


@cache
def _problem(file: str) -> Problem | None:
    try:
        return Reader(ReadOptions(dims=EXAMPLES[file].dims)).problem(EXAMPLES[file].data, EXAMPLES[file].name)
    except InputError:
        return None


def request(name: str, file: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the inputs and options of a question about an example; raises MemplanError if it has no plan."""
    question, example, problem = QUESTIONS[name], EXAMPLES[file], _problem(file)
    given = (each.name for each in question.inputs if each.name in _FILES and each.from_file is not None)
    files: dict[str, Any] = dict.fromkeys(given, example)
    options: dict[str, Any] = {"dims": example.dims} if example.dims else {}
    if "deterministic" in question.options.model_fields:
        options["deterministic"] = True
    elif name in {"compare", "cascade"}:
        options["time_limit_s"] = 2
    if "name" in question.options.model_fields:
        options["name"] = example.name
    pools = ["default"] if problem is None else [pool.name for pool in problem.pools]
    if name == "check":
        options["budgets"] = [f"{pool}=1GiB" for pool in pools]
    if name == "sweep":
        files["sizes"] = {pools[0]: [2**20, 2**24]}
    if name == "schedule":
        files["target"] = json.loads((_TESTS.parent / "examples/schedules/gap8_like.json").read_bytes())
    if name in {"verify", "certify"}:
        files["plan"] = ask_with_files(QUESTIONS["plan"], {"problem": example}, options)[0]
    return files, options


def values_of(file: str) -> dict[str, tuple[Any, Mapping[str, Any]]]:
    """Return, for each reading option, a value that has an effect, and the options that it needs."""
    example, problem = EXAMPLES[file], _problem(file)
    ids = ["tensor_0", "tensor_1"] if problem is None else [str(name) for name in problem.buffers.ids]
    over = {"graph": "0", "program": "x"}.get(file, ids[0])
    return {
        "capacity": (["1GiB"], {}),
        "weights": ("ram", {}),
        "pin": ([f"{ids[-1]}=1048576"], {}),
        "reserve": (["4KiB"], {}),
        "copies": ([f"{ids[0]}=2"], {}),
        "order": ([",".join(_following(problem)) if problem is not None else "x,y"], {}),
        "in_place": (True, {}),
        "moves": ("lead=0", {}),
        "spare": ([over], {"in_place": True}),
        "inclusive": (True, {}),
        "dims": (dict(example.other_dims), {}),
        "views": ("separate", {}),
        "alignment": (3 * 8192, {}),
        "scratch": ({example.scratch: 2**24}, {}),
        "target": ("cortex-m4", {}),
        "kernels": ("cmsis-nn", {}),
    }


OWN: Mapping[str, Mapping[str, Any]] = {
    "plan": {"solver": "local-search", "accept": "5%", "seed": 7, "profile": "size"}
    | {"heaps": 2**20, "least": "bytes"},
    "explain": {"repairs": 2, "most_changes": 1, "kinds": ("pool",), "with_plans": True, "what_if": True}
    | {"shrunk_to": 0.5, "more": 4096},
    "verify": {"places": True, "better": True, "again": True, "with_plans": True},
    "check": {"tolerance": "50%", "profile": "size", "subject": "S", "differences": True, "unmoved": True}
    | {"with_plan": True, "budgets": ("1TiB",), "most_moved": 1},
    "sweep": {"solver": "local-search", "accept": "5%", "seed": 7, "profile": "size", "alignments": (64, 4096)}
    | {"repetitions": 3},
    "certify": {},
    "order": {"count_resident": True, "goal": "placed", "with_certificate": True, "with_plan": True, "recompute": True}
    | {"within": "90%", "extra_cost": "10%", "link": 100.0, "points": 3},
    "schedule": {"objective": "peak", "frontier": True, "fast_memory": 300_000},
    "cascade": {"fit": 10, "macs": 1.0, "input": "streamed", "output": "streamed", "overlap": "sliding"}
    | {"objectives": ("peak", "macs", "traffic"), "pools": (("fast", 4096), ("slow", 2**20)), "brick": 16}
    | {"stripe": (1, 1), "longest": 1, "rolling": False, "orders": "given", "barriers": ("0",)}
    | {"sweep": {"longest": (1, 2)}, "point": 0, "check": True},
    "liveness": {"liveness": "scope", "temporaries": "lifted", "plan_inputs": False, "plan_outputs": False}
    | {"compare": True, "match_range": 0},
    "shapes": {"symbol": {"b": {"low": 2, "high": 4}}, "most": 1, "limits": True, "within": 4096, "at": {"b": 3}}
    | {"to": "c"},
    "compare": {},
    "convert": {"to": "csv", "prefix": "P", "section": ".x", "fit": 2**20, "macs": 1.5, "c_array": True}
    | {"program": True},
}
"""For each question, a value of every option but those for reading, each different from the default."""
HOW_LONG = {"time_limit_s", "explain_s", "study_s", "each_s", "proof_s", "deterministic", "name"}
"""Options that limit an effort or name a file, and have no value that must change an answer."""
BOUNDS = {
    "check": {"profile", "budgets"},
    "sweep": {"solver", "accept", "seed", "profile", "repetitions"},
    "order": {"goal"},
    "shapes": {"most"},
    "cascade": {"macs", "brick", "orders", "barriers"},
}
"""Options that choose or bound a search, whose answer for a small file may be the same."""


def _following(problem: Problem) -> tuple[str, str]:
    """Return the ids of two buffers, the second alive after the first if possible."""
    rows = [row for row in problem.buffers if row.alias_of is None]
    pairs = ((a, b) for a in rows for b in rows if a is not b and a.intervals[-1][1] <= b.intervals[0][0])
    before, after = next(pairs, (rows[0], rows[-1]))
    return str(before.id), str(after.id)


def is_honoured(before: tuple[Any, Any, list[str]], after: tuple[Any, Any, list[str]]) -> bool:
    """Return True if an option changed an answer, the problem of the answer, or the warnings about the file."""
    return before[0] != after[0] or before[2] != after[2] or _hash(before[1]) != _hash(after[1])


def _hash(values: Mapping[str, Any]) -> str | None:
    problem = values.get("problem")
    return problem_hash(problem) if isinstance(problem, Problem) else None


def silent_options(name: str, file: str) -> Iterator[str]:
    """Yield the reading options that a question neither honours nor refuses for a file."""
    question, values = QUESTIONS[name], values_of(file)
    try:
        files, options = request(name, file)
        plain = ask_with_files(question, files, options)
    except InputError:  # the question refuses this file with or without options
        return
    for option in sorted(options_of(question)):
        value, others = values[option]
        with_others = options | dict(others)
        try:
            before = ask_with_files(question, files, with_others) if others else plain
            after = ask_with_files(question, files, with_others | {option: value})
        except InputError:
            continue
        if not is_honoured(before, after):
            yield option
