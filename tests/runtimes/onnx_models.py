"""Small ONNX models for tests of the reader."""

import random
from collections.abc import Sequence
from typing import Any

from onnx import ModelProto, TensorProto, helper, numpy_helper

from memplan.runtimes.onnx.model import graphs_of

Value = tuple[str, Sequence[int | str | None] | None]
WHERE = "Device:[DeviceType:0 MemoryType:0 VendorId:0 DeviceId:0 Alignment:0]"
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def value(name: str, shape: Sequence[int | str | None] | None, kind: int = FLOAT) -> Any:
    """Return the name, element type and shape of a tensor, as models declare it."""
    return helper.make_tensor_value_info(name, kind, shape)


def graph(nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any], **constants: Any) -> Any:
    initializers = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    return helper.make_graph(nodes, "small", inputs, outputs, initializer=initializers)


def model(nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any], **constants: Any) -> bytes:
    return model_bytes(graph(nodes, inputs, outputs, **constants))


def model_bytes(whole: Any, opset: int = 17, functions: Sequence[Any] = ()) -> bytes:
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    made = helper.make_model(whole, opset_imports=opsets, functions=list(functions), ir_version=8)
    data: bytes = made.SerializeToString()
    return data


def node(op: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    """Return a node; names are separated by spaces, and `-` means an absent one."""
    split = [[name.replace("-", "") for name in names.split()] for names in (inputs, outputs)]
    return helper.make_node(op, *split, **attributes)


def choice() -> bytes:
    """Return a model of an If, whose branches need one and two values."""
    then = graph([node("Relu", "x", "t")], [], [value("t", (4,))])
    other = graph([node("Neg", "x", "u"), node("Exp", "u", "v")], [], [value("v", (4,))])
    nodes = [node("If", "c", "y", then_branch=then, else_branch=other), node("Add", "x y", "z")]
    return model(nodes, [value("x", (4,)), value("c", (), BOOL)], [value("z", (4,))])


def loop(*, swaps: bool = False) -> bytes:
    """Return a model of a Loop with two states, which it exchanges if `swaps`."""
    ways = "b a" if swaps else "b2 a"
    body = graph(
        [node("Identity", "c", "c2"), node("Add", "a b", "b2"), node("Neg", "b2", "s")],
        [value("i", (), INT64), value("c", (), BOOL), value("a", (4,)), value("b", (4,))],
        [value("c2", (), BOOL), *(value(name, (4,)) for name in ways.split()), value("s", (4,))],
    )
    nodes = [node("Loop", "n - x y", "p q stack", body=body), node("Add", "p q", "z")]
    inputs = [value("n", (), INT64), value("x", (4,)), value("y", (4,))]
    return model(nodes, inputs, [value("z", (4,)), value("stack", (5, 4))])


def scan() -> bytes:
    """Return a model of a Scan that sums the rows of a table, and returns all partial sums."""
    nodes = [node("Add", "sum row", "next"), node("Identity", "next", "seen")]
    body = graph(nodes, *[[value(name, (4,)) for name in names.split()] for names in ("sum row", "next seen")])
    nodes = [node("Scan", "zero table", "total sums", body=body, num_scan_inputs=1)]
    return model(nodes, [value("zero", (4,)), value("table", (3, 4))], [value("total", (4,)), value("sums", (3, 4))])


def change_model(data: bytes, chance: random.Random) -> bytes:
    """Return a model with one to four random changes of its graphs."""
    model = ModelProto.FromString(data)
    for _ in range(chance.randint(1, 4)):
        inner = chance.choice(list(graphs_of(model.graph)))
        values = [*inner.input, *inner.output, *inner.value_info]
        names = [name for node in inner.node for name in (*node.input, *node.output)] + [row.name for row in values]
        kind = chance.randrange(7)
        if kind <= 2 and inner.node:
            _change_node(inner, chance.choice(inner.node), names, chance)
        elif kind == 3 and values:
            chance.choice(values).name = chance.choice([*names, "", "new"])
        elif kind == 4 and values:
            chance.choice(values).type.tensor_type.elem_type = chance.randrange(30)
        elif values:
            dims = chance.choice(values).type.tensor_type.shape.dim
            dim = chance.choice(dims) if dims else dims.add()
            if chance.random() < 0.3:
                dim.dim_param = chance.choice(("batch", "unk__0", ""))
            else:
                dim.dim_value = chance.choice((0, 1, 4, 5, -1, 2**31, 2**62))
    found: bytes = model.SerializeToString()
    return found


def _change_node(inner: Any, found: Any, names: list[str], chance: random.Random) -> None:
    kind = chance.randrange(7)
    if kind == 0:
        inner.node.remove(found)
    elif kind == 1:
        inner.node.add().CopyFrom(found)
    elif kind == 2 and found.attribute:
        found.attribute.remove(chance.choice(found.attribute))
    elif kind == 3 and found.attribute:
        chance.choice(found.attribute).i = chance.choice((-1, 0, 2, 2**40))
    elif kind == 4:
        found.op_type = chance.choice(("Reshape", "Identity", "If", "Loop", "Scan", "Concat", "Shape", "", "Own"))
    else:
        side = found.input if kind == 5 else found.output
        if len(side) and chance.random() < 0.7:
            side[chance.randrange(len(side))] = chance.choice([*names, ""])
        else:
            side.append(chance.choice(names or ["new"]))


def printed_plan(kinds: dict[str, str], *streams: Sequence[str]) -> bytes:
    """Return a log with a plan: `kinds` by the values' names, in a stream the nodes, !N to notify and ?N to wait."""
    words = {"!": "ActivateNotification - NotificationId: ", "?": "WaitOnEP - NotificationId: "}
    lines = ["2026-09-01 10:00 [V:onnxruntime:, session_state.cc:1507] Allocation Plan:"]
    lines += ["(ort_value_idx) output_name : <allocation plan>"]
    lines += [f"({k}){name} : {kind}, {WHERE}" for k, (name, kind) in enumerate(kinds.items())]
    lines += ["", "Execution Plan:"]
    for s, steps in enumerate(streams):
        lines += [f"Start logic stream: {s} on device: {s}"]
        for k, step in enumerate(steps):
            lines += [words[step[0]] + step[1:] if step[0] in words else f"LaunchKernel - NodeIndex: {k}, Name: {step}"]
        lines += ["TriggerDownstream - TriggerPointIndex: 0", f"End logic stream : {s}"]
    return "\n".join(lines).encode()
