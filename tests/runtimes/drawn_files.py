"""Writes random models as files, in each file format that contains operations."""

import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from tests.runtimes import tflite_files
from tests.runtimes.drawn_models import CHOICE, OVER, VIEW, DrawnModel, Format, Step, bytes_of, draw, homes, live_peak
from tests.runtimes.foreign_files import relax


def _onnx(model: DrawnModel) -> bytes:
    import numpy as np

    from tests.runtimes import onnx_models as onnx

    def nodes(steps: Sequence[Step]) -> Iterator[Any]:
        for step in steps:
            inputs, outputs = (" ".join(f"t{t}" for t in row) for row in (step.inputs, step.outputs))
            if step.kind == CHOICE:
                bodies = {
                    f"{label}_branch": onnx.graph([*nodes(branch)], [], [value(branch[-1].outputs[0])])
                    for label, branch in zip(("then", "else"), step.branches, strict=True)
                }
                yield onnx.node("If", inputs, outputs, **bodies)
            elif step.kind == VIEW:
                yield onnx.node("Reshape", f"{inputs} s{step.outputs[0]}", outputs)
            elif step.kind == "shape":
                yield onnx.node("Shape", inputs, f"shape{step.inputs[0]}")
            else:
                more: dict[str, Any] = {"axis": -1} if step.kind in ("concat", "split") else {}
                yield onnx.node({"matmul": "MatMul"}.get(step.kind, step.kind.capitalize()), inputs, outputs, **more)

    def value(t: int) -> Any:
        kind = (), onnx.BOOL
        return onnx.value(f"t{t}", *(kind if t in model.conditions else (model.shapes[t],)))

    arrays = {f"t{t}": np.ones(model.shapes[t], np.float32) for t in model.constants}
    views = [step.outputs[0] for step in model.steps if step.kind == VIEW]
    arrays |= {f"s{t}": np.array(model.shapes[t], np.int64) for t in views}
    asked = {step.inputs[0]: k for k, step in enumerate(model.steps) if step.kind == "shape"}
    steps = [step for k, step in enumerate(model.steps) if step.kind != "shape" or asked[step.inputs[0]] == k]
    return onnx.model([*nodes(steps)], [*map(value, model.given)], [*map(value, model.results)], **arrays)


def _tflite(model: DrawnModel) -> bytes:
    shapes = [(1, *shape, 1) for shape in model.shapes]
    int8, numbered = tflite_files.INT8, enumerate(shapes)
    tensors = [tflite_files.tensor(f"t{t}", shape, int8, constant=t in model.constants) for t, shape in numbered]
    tensors += [tflite_files.tensor("sizes", (4,), tflite_files.INT32, constant=True)]
    tensors += [tflite_files.tensor("kernel", (1, 2, 2, 1), tflite_files.INT8, constant=True)]
    sizes, kernel = len(shapes), len(shapes) + 1
    names = {"matmul": "FULLY_CONNECTED", "concat": "CONCATENATION", VIEW: "RESHAPE", "deconv": "TRANSPOSE_CONV"}
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
            elif step.kind == VIEW:
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
    body = "\n".join([*constants, *lines(model.steps), f"return {', '.join(map(name, model.results))} : {results}"])
    return f"module @drawn {{\nfunc.func public @main({arguments}) -> ({results}) {{\n{body}\n}}\n}}\n".encode()


def _relax(model: DrawnModel) -> bytes:
    def kind(t: int) -> str:
        return f'R.Tensor(({model.shapes[t][0]}, {model.shapes[t][1]}), dtype="float32")'

    calls = {"relu": "R.nn.relu", "neg": "R.negative", "add": "R.add", "matmul": "R.matmul", VIEW: "R.reshape"}
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
            call = {"concat": f"R.concat(({given}), axis=1)", VIEW: f"R.reshape({given}, R.shape([{rows}, {columns}]))"}
            made = call.get(step.kind) or f"{calls[step.kind]}({given})"
            body.append(f"t{step.outputs[0]}: {kind(step.outputs[0])} = {made}")
    body.append(f"return ({', '.join(f't{t}' for t in model.results)},)")
    params = ", ".join(f"t{t}: {kind(t)}" for t in (*model.given, *model.constants))
    first = b'main(x: R.Tensor((4, "n"), dtype="float32"))'
    return relax(*body).replace(first, f"main({params})".encode())


def _torch(model: DrawnModel) -> bytes:
    targets = {"matmul": "mm", "concat": "cat", "split": "split_with_sizes_copy", VIEW: "view", OVER: "relu_"}

    def tensor_argument(t: int) -> dict[str, Any]:
        return {"as_tensor": {"name": f"t{t}"}}

    nodes = []
    for step in model.steps:
        args = [tensor_argument(t) for t in step.inputs]
        if step.kind == "concat":
            args = [{"as_tensors": [row["as_tensor"] for row in args]}]
        name = "tensors" if step.kind == "concat" else "self"
        inputs = [{"name": f"{name}{k or ''}", "arg": arg} for k, arg in enumerate(args)]
        outputs = [tensor_argument(t) for t in step.outputs]
        if step.kind == "split":
            outputs = [{"as_tensors": [row["as_tensor"] for row in outputs]}]
        target = f"torch.ops.aten.{targets.get(step.kind, step.kind)}.default"
        nodes.append({"target": target, "inputs": inputs, "outputs": outputs, "metadata": {}})
    values = {
        f"t{t}": {"dtype": 7, "sizes": [{"as_int": n} for n in shape], "strides": [{"as_int": shape[1]}, {"as_int": 1}]}
        for t, shape in enumerate(model.shapes)
    }
    specs = [{"parameter": {"arg": {"name": f"t{t}"}, "parameter_name": f"t{t}"}} for t in model.constants]
    specs += [{"user_input": {"arg": tensor_argument(t)}} for t in model.given]
    inputs = [tensor_argument(t) for t in (*model.constants, *model.given)]
    outputs = [tensor_argument(t) for t in model.results]
    graph = {"inputs": inputs, "nodes": nodes, "outputs": outputs, "tensor_values": values}
    program = {"graph_module": {"graph": graph, "signature": {"input_specs": specs, "output_specs": []}}}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("drawn/archive_format", "pt2")
        archive.writestr("drawn/models/model.json", json.dumps(program))
    return out.getvalue()


def _ggml(model: DrawnModel) -> bytes:
    how = FORMATS["ggml"]
    home, _ = homes(model, how)
    offset, places = 0, dict[int, int]()
    for t in range(len(model.shapes)):
        if home[t] == t and t not in model.constants:
            places[t], offset = offset, offset + bytes_of(model, how, t)
    lines: list[dict[str, Any]] = [{"format": "ggml-graph/1"}]
    lines.append({"buffer": 0, "size": offset, "type": "CPU", "alignment": how.alignment, "computed": True})
    view = {step.outputs[0]: step.inputs[0] for step in model.steps if step.kind == VIEW}
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
    names = {"matmul": "MUL_MAT", VIEW: "RESHAPE", OVER: "RELU", "half": "CONT"}
    for step in model.steps:
        op = names.get(step.kind, step.kind.upper())
        lines.append({"node": step.outputs[0], "op": op, "reads": list(step.inputs)})
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


def draw_file(seed: int) -> tuple[str, bytes, int]:
    """Return (file name, bytes, live peak) of a random model; the file format depends on the seed."""
    how = FORMATS[list(FORMATS)[seed % len(FORMATS)]]
    model = draw(seed, how)
    return f"drawn{seed}{how.suffix}", how.write(model), live_peak(model, how)
