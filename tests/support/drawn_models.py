"""Small models drawn by a seed, each written in every format that says operations, with the bytes that it needs.

The bytes alive at once are counted here, of the steps alone, by rules that the readers' documents say: a view has its
source's bytes, unless both are the caller's; inputs are there before the first step, and results behind the last one; a
choice is made after its condition was read, and each branch writes the result.
"""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import Any

from tests.support import tflite_files
from tests.support.foreign_files import relax

Shape = tuple[int, int]
_CHOICE, _VIEW, _OVER = "choice", "view", "over"


@dataclass(frozen=True)
class Step:
    """What is done with tensors, by their numbers; of a choice, in one of its `branches`."""

    kind: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...] = ()
    branches: tuple[tuple[Step, ...], ...] = ()


@dataclass(frozen=True)
class DrawnModel:
    """A program: shapes of its tensors, and which of them are given, constant, results, and conditions."""

    shapes: tuple[Shape, ...]
    given: tuple[int, ...]
    constants: tuple[int, ...]
    results: tuple[int, ...]
    steps: tuple[Step, ...]
    conditions: tuple[int, ...] = ()


@dataclass(frozen=True)
class Format:
    """A format: how models are written in it, what they may do, and what is true of their tensors there.

    An element has `item` bytes, a condition one; sizes are rounded up to the `alignment`. Views of an input that are
    results are copies, where `copies_callers`. All that nothing reads is a result where `keeps_unread`. What asks for a
    shape alone reads the tensor where it `reads_shapes`; else the shape is known before the first step.
    """

    suffix: str
    write: Callable[[DrawnModel], bytes]
    kinds: str
    item: int = 4
    alignment: int = 64
    copies_callers: bool = True
    keeps_unread: bool = False
    reads_shapes: bool = False


def draw(seed: int, how: Format) -> DrawnModel:
    """Draw a model of up to ten steps."""
    rng = random.Random(seed)
    draft = _Draft(rng, how)
    for _ in range(rng.randint(1, 3)):
        draft.given.append(draft.tensor((rng.choice((2, 3, 4)), rng.choice((8, 16, 32)))))
    kinds = how.kinds.split()
    for _ in range(rng.randint(2, 10)):
        draft.step(rng.choice(kinds))
    return draft.model()


def live_peak(model: DrawnModel, how: Format) -> int:
    """Return the most bytes that are alive at once, on any way through the model."""
    home, copies = _homes(model, how)
    choices = [step for step in model.steps if step.kind == _CHOICE]
    return max(
        _peak_of_way(model, how, home, copies, dict(zip(map(id, choices), way, strict=True)))
        for way in product((0, 1), repeat=len(choices))
    )


def _homes(model: DrawnModel, how: Format) -> tuple[dict[int, int], set[int]]:
    """Return in which tensor's bytes each tensor lies, and the results of views that are copies."""
    home = {t: t for t in range(len(model.shapes))}
    is_callers = {t: t in model.given or t in model.results for t in home}
    copies: set[int] = set()
    for step in model.steps:
        for branch in step.branches:
            home[branch[-1].outputs[0]] = step.outputs[0]
        if step.kind not in (_VIEW, _OVER):
            continue
        source, result = home[step.inputs[0]], step.outputs[0]
        if step.kind == _VIEW and how.copies_callers and is_callers[source] and is_callers[result]:
            copies.add(result)
            continue
        home[result] = source
        is_callers[source] |= is_callers[result]
    return home, copies


def _peak_of_way(
    model: DrawnModel, how: Format, home: Mapping[int, int], copies: set[int], way: Mapping[int, int]
) -> int:
    rows: list[tuple[list[int], list[int], int]] = []  # what is read and written, and the bytes that a kernel needs
    for step in model.steps:
        if step.kind == _CHOICE:
            inner = [row for branch in step.branches for row in branch]
            made = {t for row in inner for t in row.outputs}
            rows.append(([*step.inputs, *(t for row in inner for t in row.inputs if t not in made)], [], 0))
            rows += [([*row.inputs], [*row.outputs], 0) for row in step.branches[way[id(step)]]]
        elif (how.reads_shapes or step.kind != "shape") and (step.kind != _VIEW or step.outputs[0] in copies):
            rows.append(([*step.inputs], [*step.outputs], _scratch(model, how, step)))
    size = [_bytes(model, how, t) for t in range(len(model.shapes))]
    first, last = dict.fromkeys((home[t] for t in model.given), -1), dict.fromkeys((home[t] for t in model.given), -1)
    for k, (reads, writes, _) in enumerate(rows):
        for t in (*reads, *writes):
            first.setdefault(home[t], k)
            last[home[t]] = k
    last |= dict.fromkeys((home[t] for t in model.results), len(rows))
    alive = set(first) - {home[t] for t in model.constants}
    return max(
        sum(size[t] for t in alive if first[t] <= k <= last[t]) + (rows[k][2] if 0 <= k < len(rows) else 0)
        for k in range(-1, len(rows) + 1)
    )


def _bytes(model: DrawnModel, how: Format, tensor: int) -> int:
    item = 1 if tensor in model.conditions else how.item
    return -(-prod(model.shapes[tensor]) * item // how.alignment) * how.alignment


def _scratch(model: DrawnModel, how: Format, step: Step) -> int:
    """Return what a kernel needs: TFLite Micro's of a transposed convolution sums in 32 bits."""
    return (
        4 * _bytes(replace(model, conditions=()), replace(how, alignment=4), step.outputs[0])
        if step.kind == "deconv"
        else 0
    )


@dataclass
class _Draft:
    rng: random.Random
    how: Format
    shapes: list[Shape] = field(default_factory=list)
    given: list[int] = field(default_factory=list)
    constants: list[int] = field(default_factory=list)
    conditions: list[int] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    live: list[int] = field(default_factory=list)

    def tensor(self, shape: Shape, *, is_value: bool = True) -> int:
        self.shapes.append(shape)
        self.live += [len(self.shapes) - 1] if is_value else []
        return len(self.shapes) - 1

    def add(self, kind: str, inputs: Sequence[int], *shapes: Shape) -> None:
        made = tuple(self.tensor(shape) for shape in shapes)
        self.steps.append(Step(kind, tuple(inputs), made))

    def step(self, kind: str) -> None:
        """Add a step of a kind, or one that goes element by element where it does not go."""
        x = self.rng.choice(self.live)
        rows, columns = shape = self.shapes[x]
        if kind == "add":
            self.add(kind, (x, self.rng.choice([t for t in self.live if self.shapes[t] == shape])), shape)
        elif kind == "matmul":
            width = self.rng.choice((4, 8, 64))
            self.constants.append(self.tensor((columns, width), is_value=False))
            self.add(kind, (x, self.constants[-1]), (rows, width))
        elif kind == "concat" and columns < 128:
            self.add(kind, (x, self.rng.choice([t for t in self.live if self.shapes[t] == shape])), (rows, 2 * columns))
        elif kind in ("split", "half") and columns % 2 == 0:
            self.add(kind, (x,), *[(rows, columns // 2)] * (2 if kind == "split" else 1))
        elif kind == "deconv" and columns < 128:
            self.add(kind, (x,), (rows, 2 * columns))
        elif kind == _VIEW and columns % 2 == 0:
            self.add(kind, (x,), (2 * rows, columns // 2))
        elif kind == _OVER and x not in self.given:
            family = {x}
            for step in (*self.steps, *reversed(self.steps)):
                if step.kind in (_VIEW, _OVER) and family & {*step.inputs, *step.outputs}:
                    family |= {*step.inputs, *step.outputs}
            if not family.isdisjoint(self.given):
                return
            self.add(kind, (x,), shape)
            self.live = [t for t in self.live if t not in family]
        elif kind == "shape":
            self.steps.append(Step(kind, (x,)))
        elif kind == _CHOICE:
            self.choice(x, shape)
        else:
            self.add(self.rng.choice(("relu", "neg")), (x,), shape)

    def choice(self, x: int, shape: Shape) -> None:
        condition = self.tensor((1, 1), is_value=False)
        self.given.append(condition)
        self.conditions.append(condition)
        other, branches = self.rng.choice(self.live), []
        for is_long in (True, False):
            a, result = self.tensor(shape, is_value=False), self.tensor(shape, is_value=False)
            wide = self.tensor(self.shapes[other], is_value=False)
            rows = [Step("neg", (other,), (wide,)), Step("relu", (x,), (a,)), Step("neg", (a,), (result,))]
            branches.append(tuple(rows) if is_long else (Step("neg", (x,), (result,)),))
        self.steps.append(Step(_CHOICE, (condition,), (self.tensor(shape),), tuple(branches)))

    def model(self) -> DrawnModel:
        if self.how.keeps_unread:  # of ggml, whose files have nothing that no node reads
            for t in set(self.given).difference(*(step.inputs for step in self.steps)):
                self.add("relu", (t,), self.shapes[t])
        read = {t for step in self.steps for row in (step, *sum(step.branches, ())) for t in row.inputs}
        results = [t for t in self.live if t not in read and t not in self.given]
        if not self.how.keeps_unread:
            results += [t for t in self.live if t in read and t not in self.given and self.rng.random() < 0.1]
            if len(results) > 1 and self.rng.random() < 0.2:
                del results[self.rng.randrange(len(results))]
            if self.rng.random() < 0.1 and self.how.suffix != ".onnx":
                results.append(self.given[0])
        return DrawnModel(
            shapes=tuple(self.shapes),
            given=tuple(self.given),
            constants=tuple(self.constants),
            results=tuple(results or self.live[-1:]),
            steps=tuple(self.steps),
            conditions=tuple(self.conditions),
        )


def _onnx(model: DrawnModel) -> bytes:
    import numpy as np

    from tests.support import onnx_models as onnx

    def nodes(steps: Sequence[Step]) -> Iterator[Any]:
        for step in steps:
            inputs, outputs = (" ".join(f"t{t}" for t in row) for row in (step.inputs, step.outputs))
            if step.kind == _CHOICE:
                bodies = {
                    f"{label}_branch": onnx.graph([*nodes(branch)], [], [value(branch[-1].outputs[0])])
                    for label, branch in zip(("then", "else"), step.branches, strict=True)
                }
                yield onnx.node("If", inputs, outputs, **bodies)
            elif step.kind == _VIEW:
                yield onnx.node("Reshape", f"{inputs} s{step.outputs[0]}", outputs)
            elif step.kind == "shape":
                yield onnx.node("Shape", inputs, f"shape{step.inputs[0]}")
            else:
                more: dict[str, Any] = {"axis": -1} if step.kind in ("concat", "split") else {}
                op = {"matmul": "MatMul"}.get(step.kind, step.kind.capitalize())
                yield onnx.node(op, inputs, outputs, **more)

    def value(t: int) -> Any:
        kind = (), onnx.BOOL
        return onnx.value(f"t{t}", *(kind if t in model.conditions else (model.shapes[t],)))

    arrays = {f"t{t}": np.ones(model.shapes[t], np.float32) for t in model.constants}
    views = [step.outputs[0] for step in model.steps if step.kind == _VIEW]
    arrays |= {f"s{t}": np.array(model.shapes[t], np.int64) for t in views}
    asked = {step.inputs[0]: k for k, step in enumerate(model.steps) if step.kind == "shape"}
    steps = [step for k, step in enumerate(model.steps) if step.kind != "shape" or asked[step.inputs[0]] == k]
    return onnx.model([*nodes(steps)], [*map(value, model.given)], [*map(value, model.results)], **arrays)


def _tflite(model: DrawnModel) -> bytes:
    shapes = [(1, *shape, 1) for shape in model.shapes]
    tensors = [
        tflite_files.tensor(f"t{t}", shape, tflite_files.INT8, constant=t in model.constants)
        for t, shape in enumerate(shapes)
    ]
    tensors += [tflite_files.tensor("sizes", (4,), tflite_files.INT32, constant=True)]
    tensors += [tflite_files.tensor("kernel", (1, 2, 2, 1), tflite_files.INT8, constant=True)]
    sizes, kernel = len(shapes), len(shapes) + 1
    names = {"matmul": "FULLY_CONNECTED", "concat": "CONCATENATION", _VIEW: "RESHAPE", "deconv": "TRANSPOSE_CONV"}
    rows = []
    for step in model.steps:
        inputs = {"split": (sizes, *step.inputs), "deconv": (sizes, kernel, *step.inputs)}.get(step.kind, step.inputs)
        rows.append(tflite_files.operator(names.get(step.kind, step.kind.upper()), inputs, step.outputs))
    return tflite_files.model(tflite_files.subgraph(tensors, model.given, model.results, rows))


def _stablehlo(model: DrawnModel) -> bytes:
    def kind(t: int) -> str:
        return "tensor<i1>" if t in model.conditions else f"tensor<{'x'.join(map(str, model.shapes[t]))}xf32>"

    def name(t: int) -> str:
        return f"%arg{model.given.index(t)}" if t in model.given else f"%v{t}"

    def lines(steps: Sequence[Step]) -> Iterator[str]:
        for step in steps:
            given, result = ", ".join(map(name, step.inputs)), step.outputs[0] if step.outputs else -1
            types = ", ".join(map(kind, step.inputs))
            if step.kind == "shape":
                yield f"%s{next(serial)} = stablehlo.get_dimension_size {given}, dim = 0 : ({types}) -> tensor<i32>"
                continue
            mapped, head = f"({types}) -> {kind(result)}", f"{name(result)} = stablehlo"
            if step.kind == "add":
                yield f"{head}.add {given} : {kind(result)}"
            elif step.kind == "relu":
                yield f"{head}.tanh {given} : {kind(result)}"
            elif step.kind == "neg":
                yield f"{head}.negate {given} : {kind(result)}"
            elif step.kind == _VIEW:
                yield f"{head}.reshape {given} : {mapped}"
            elif step.kind == "concat":
                yield f"{head}.concatenate {given}, dim = 1 : {mapped}"
            elif step.kind == "half":
                rows, columns = model.shapes[result]
                yield f"{head}.slice {given} [0:{rows}, 0:{columns}] : {mapped}"
            elif step.kind == "matmul":
                yield f"{head}.dot_general {given}, contracting_dims = [1] x [0] : {mapped}"
            else:
                bodies = []
                for branch in step.branches:
                    inner = "\n".join(lines(branch))
                    last = branch[-1].outputs[0]
                    bodies.append(f"{{\n{inner}\nstablehlo.return {name(last)} : {kind(last)}\n}}")
                yield f'{name(result)} = "stablehlo.if"({given}) ({", ".join(bodies)}) : {mapped}'

    serial = iter(range(10**6))
    arguments = ", ".join(f"{name(t)}: {kind(t)}" for t in model.given)
    results = ", ".join(map(kind, model.results))
    constants = [f"{name(t)} = stablehlo.constant dense<1.0> : {kind(t)}" for t in model.constants]
    back = f"return {', '.join(map(name, model.results))} : {results}"
    body = "\n".join([*constants, *lines(model.steps), back])
    return f"module @drawn {{\nfunc.func public @main({arguments}) -> ({results}) {{\n{body}\n}}\n}}\n".encode()


def _relax(model: DrawnModel) -> bytes:
    def kind(t: int) -> str:
        return f'R.Tensor(({model.shapes[t][0]}, {model.shapes[t][1]}), dtype="float32")'

    calls = {"relu": "R.nn.relu", "neg": "R.negative", "add": "R.add", "matmul": "R.matmul", _VIEW: "R.reshape"}
    body = [f'R.func_attr({{"num_input": {len(model.given)}}})']
    for k, step in enumerate(model.steps):
        given = ", ".join(f"t{t}" for t in step.inputs)
        if step.kind == "shape":
            body.append(f"s{k} = R.shape_of({given})")
        elif step.kind == "split":
            kinds = ", ".join(map(kind, step.outputs))
            body.append(f"p{k}: R.Tuple({kinds}) = R.split({given}, indices_or_sections=2, axis=1)")
            body += [f"t{t}: {kind(t)} = p{k}[{j}]" for j, t in enumerate(step.outputs)]
        else:
            rows, columns = model.shapes[step.outputs[0]]
            call = {
                "concat": f"R.concat(({given}), axis=1)",
                _VIEW: f"R.reshape({given}, R.shape([{rows}, {columns}]))",
            }
            made = call.get(step.kind) or f"{calls[step.kind]}({given})"
            body.append(f"t{step.outputs[0]}: {kind(step.outputs[0])} = {made}")
    body.append(f"return ({', '.join(f't{t}' for t in model.results)},)")
    params = ", ".join(f"t{t}: {kind(t)}" for t in (*model.given, *model.constants))
    first = b'main(x: R.Tensor((4, "n"), dtype="float32"))'
    return relax(*body).replace(first, f"main({params})".encode())


def _torch(model: DrawnModel) -> bytes:
    targets = {"matmul": "mm", "concat": "cat", "split": "split_with_sizes_copy", _VIEW: "view", _OVER: "relu_"}

    def named(t: int) -> dict[str, Any]:
        return {"as_tensor": {"name": f"t{t}"}}

    nodes = []
    for step in model.steps:
        args = [named(t) for t in step.inputs]
        if step.kind == "concat":
            args = [{"as_tensors": [row["as_tensor"] for row in args]}]
        inputs = [
            {"name": f"{'tensors' if step.kind == 'concat' else 'self'}{k or ''}", "arg": arg}
            for k, arg in enumerate(args)
        ]
        outputs = [named(t) for t in step.outputs]
        if step.kind == "split":
            outputs = [{"as_tensors": [row["as_tensor"] for row in outputs]}]
        target = f"torch.ops.aten.{targets.get(step.kind, step.kind)}.default"
        nodes.append({"target": target, "inputs": inputs, "outputs": outputs, "metadata": {}})
    values = {
        f"t{t}": {"dtype": 7, "sizes": [{"as_int": n} for n in shape], "strides": [{"as_int": shape[1]}, {"as_int": 1}]}
        for t, shape in enumerate(model.shapes)
    }
    specs = [{"parameter": {"arg": {"name": f"t{t}"}, "parameter_name": f"t{t}"}} for t in model.constants]
    specs += [{"user_input": {"arg": named(t)}} for t in model.given]
    graph = {
        "inputs": [named(t) for t in (*model.constants, *model.given)],
        "nodes": nodes,
        "outputs": [named(t) for t in model.results],
        "tensor_values": values,
    }
    program = {"graph_module": {"graph": graph, "signature": {"input_specs": specs, "output_specs": []}}}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("drawn/archive_format", "pt2")
        archive.writestr("drawn/models/model.json", json.dumps(program))
    return out.getvalue()


def _ggml(model: DrawnModel) -> bytes:
    how = FORMATS["ggml"]
    home, _ = _homes(model, how)
    offset, places = 0, dict[int, int]()
    for t in range(len(model.shapes)):
        if home[t] == t and t not in model.constants:
            places[t], offset = offset, offset + _bytes(model, how, t)
    lines: list[dict[str, Any]] = [{"format": "ggml-graph/1"}]
    lines.append({"buffer": 0, "size": offset, "type": "CPU", "alignment": how.alignment, "computed": True})
    view = {step.outputs[0]: step.inputs[0] for step in model.steps if step.kind == _VIEW}
    for t, shape in enumerate(model.shapes):
        row: dict[str, Any] = {"tensor": t, "name": f"t{t}", "type": "f32", "shape": [shape[1], shape[0], 1, 1]}
        row["bytes"] = 4 * prod(shape)
        source = t
        while source in view:
            source = view[source]
        if source != t:
            row["view_of"] = source
        elif t not in model.constants:
            row |= {"buffer": 0, "offset": places[home[t]]}
        row |= {"input": True} if t in model.given else {}
        row |= {"output": True} if t in model.results else {}
        lines.append(row)
    names = {"matmul": "MUL_MAT", _VIEW: "RESHAPE", _OVER: "RELU", "half": "CONT"}
    lines += [
        {"node": step.outputs[0], "op": names.get(step.kind, step.kind.upper()), "reads": list(step.inputs)}
        for step in model.steps
    ]
    return "\n".join(map(json.dumps, lines)).encode()


_PLAIN = "relu neg add matmul concat view"
FORMATS: Mapping[str, Format] = {
    "onnx": Format(".onnx", _onnx, f"{_PLAIN} split shape choice"),
    "tflite": Format(".tflite", _tflite, f"{_PLAIN} split deconv", item=1, alignment=16),
    "stablehlo": Format(".mlir", _stablehlo, f"{_PLAIN} half shape choice"),
    "relax": Format(".relax", _relax, f"{_PLAIN} split shape", reads_shapes=True),
    "torch-export": Format(".pt2", _torch, f"{_PLAIN} split over", copies_callers=False),
    "ggml": Format(".json", _ggml, f"{_PLAIN} half over", alignment=32, copies_callers=False, keeps_unread=True),
}


def drawn_file(seed: int) -> tuple[str, bytes, int]:
    """Return the name and the bytes of a file, and the most bytes that its model has alive; formats take turns."""
    name = list(FORMATS)[seed % len(FORMATS)]
    how = FORMATS[name]
    model = draw(seed, how)
    return f"drawn{seed}{how.suffix}", how.write(model), live_peak(model, how)
