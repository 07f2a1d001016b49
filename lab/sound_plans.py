"""Plans that other systems made by themselves: `memplan verify` must find all sound, or this ends at the first alarm.

`python -m lab.sound_plans litert`: arenas of networks in many sizes, by LiteRT's interpreter (extra `runtimes`).
`python -m lab.sound_plans inductor COUNT`: wrappers of drawn networks, with pools and without, by torch.compile.
`python -m lab.sound_plans pto COUNT`, or tilelang: drawn kernels with loops, their tiles placed by XNNPACK's planner.
`python -m lab.sound_plans onnxruntime COUNT`: drawn models on two streams, buffers reused by ONNX Runtime's rules.
`python -m lab.sound_plans GRAPHS...`: files of ggml's graphs, of which each size is a plan (docs/ggml.md).
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from memplan.planner.foreign.imported import Imported
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import read_model, read_plan_as
from memplan.planner.systems import reference_planners
from memplan.planner.verify.verifier import verify

Printed = bytes | tuple[bytes, bytes]
"""What a system prints, or a model and what is printed of it."""
SIDES, SCALES = range(32, 200, 8), (2, 4, 8, 16, 32)
_TITLE = "Tensor  ID Name  Type  AllocType  Size (Bytes/MB)  Shape  MemAddr-Offset"


def interpreter_state(data: bytes) -> bytes:
    """Return what PrintInterpreterState would print of a TFLite model's only subgraph, without delegates."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    plain = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=plain)
    interpreter.allocate_tensors()
    nodes = interpreter._get_ops_details()
    ends = [
        [row["index"] for row in rows] for rows in (interpreter.get_input_details(), interpreter.get_output_details())
    ]
    in_arena = {*ends[0], *(int(k) for node in nodes for k in node["outputs"])}
    places = {k: interpreter.tensor(k)() for k in sorted(in_arena)}
    base = min(view.__array_interface__["data"][0] for view in places.values())
    lines = [
        "Interpreter has 1 subgraphs.",
        "",
        f"-----Subgraph-0 has {len(places)} tensors and {len(nodes)} nodes-----",
    ]
    lines += [f"{len(row)} {word}: {_listed(row)}" for word, row in zip(("Inputs", "Outputs"), ends, strict=True)]
    lines += ["", _TITLE]
    for k, view in places.items():
        start = view.__array_interface__["data"][0] - base
        size = f"{view.nbytes} / 0.00 [{','.join(map(str, view.shape))}]"
        lines.append(
            f"Tensor {k:3} {'of a network':25} kTfLiteFloat32  kTfLiteArenaRw {size} [{start}, {start + view.nbytes})"
        )
    for k, node in enumerate(nodes):
        lines.append(f"Node {k:3} Operator Builtin Code   0 {node['op_name']} (not delegated)")
        lines += [f"  9 {word} Tensors:{_listed(node[word.lower() + 's'])}" for word in ("Input", "Output")]
    lines.append(f"Execution plan as the list of {len(nodes)} nodes invoked in-order: [0-{len(nodes) - 1}]")
    return "\n".join(lines).encode()


def _listed(numbers: Any) -> str:
    return f"[{','.join(map(str, numbers))}] -> 0B (0.00MB)"


def litert() -> Iterator[bytes]:
    from memplan.extensions.models.tests import tflite_networks

    for network in (tflite_networks.mobilenet_v1, tflite_networks.mobilenet_v2, tflite_networks.vgg):
        for side in SIDES:
            yield from (interpreter_state(network(side, scale)) for scale in SCALES)


def inductor(count: int) -> Iterator[bytes]:
    import torch
    from torch._inductor import config
    from torch._inductor.utils import run_and_get_code

    class Drawn(torch.nn.Module):  # type: ignore[misc]
        def __init__(self, width: int, depth: int) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(depth))

        def forward(self, x: Any) -> Any:
            older = [x]
            for k, layer in enumerate(self.layers):
                x = torch.relu(layer(x)).softmax(-1) @ x.T @ older[k // 2]
                older.append(x)
            return x, older[1].view(-1)

    for seed in range(count):
        torch._dynamo.reset()
        torch.manual_seed(seed)
        config.memory_planning = seed % 2 == 1
        width = 8 + 4 * seed
        with torch.no_grad():
            compiled = torch.compile(Drawn(width, 2 + seed % 5).eval(), dynamic=False)
            yield from (code.encode() for code in run_and_get_code(compiled, torch.randn(width, width))[1])


def graphs(*files: str) -> Iterator[bytes]:
    for file in files:
        start, *parts = Path(file).read_bytes().split(b'{"format"')
        yield from (start + b'{"format"' + part for part in parts)


@dataclass(frozen=True)
class Drawn:
    """A drawn kernel: the rows of its tiles, those that each is made of, the loop's first and last, where they lie."""

    rows: list[int]
    reads: list[list[int]]
    loop: tuple[int, int]
    at: Mapping[int, int]


def drawn(seed: int, places: Mapping[int, int] | None) -> Drawn:
    """Draw a kernel, whose tiles of 256 bytes a row lie one behind the other without places."""
    draw = random.Random(seed)
    rows = [draw.choice((8, 16, 32)) for _ in range(draw.randint(3, 9))]
    at = dict(enumerate(accumulate((256 * count for count in rows), initial=0))) if places is None else places
    first, last = sorted(draw.sample(range(len(rows) + 1), 2))
    reads = [sorted({draw.randrange(k) for _ in range(2)} if k else ()) for k in range(len(rows))]
    return Drawn(rows, reads, (first, last), at)


def kernel(seed: int, places: Mapping[int, int] | None = None) -> bytes:
    """Return a drawn kernel of PTO."""
    made = drawn(seed, places)
    types = [f"!pto.tile_buf<vec, {count}x64xf32>" for count in made.rows]
    lines = [f"%a{k} = arith.constant {made.at[k]} : i64" for k in range(len(types))]
    lines += [f"%t{k} = pto.alloc_tile addr = %a{k} : {each}" for k, each in enumerate(types)]
    for k, (kind, reads) in enumerate(zip(types, made.reads, strict=True)):
        lines += ["scf.for %i = %c0 to %n step %c1 {"] * (k == made.loop[0])
        ins = f"{', '.join(f'%t{j}' for j in reads)} : {', '.join(types[j] for j in reads)}"
        lines += [f"pto.tadd ins({ins if reads else '%src : !pto.ptr'}) outs(%t{k} : {kind})"]
        lines += ["}"] * (k + 1 == made.loop[1])
    lines += [f"pto.tstore ins(%t{len(types) - 1} : {types[-1]}) outs(%dst : !pto.ptr)"]
    return "\n".join(["func.func @kernel(%src: !pto.ptr, %n: index) {", *lines, "return", "}"]).encode()


def script(seed: int, places: Mapping[int, int] | None = None) -> bytes:
    """Return a drawn kernel of TileLang."""
    made = drawn(seed, places)
    names = range(len(made.rows))
    maps = [
        f"{{{', '.join(f't{k}: {number[k]}' for k in names)}}}" for number in (made.at, [256 * n for n in made.rows])
    ]

    def pointer(k: int, kind: int) -> str:
        return f'T.tvm_access_ptr(T.type_annotation("float32"), t{k}, 0, {64 * made.rows[k]}, {kind})'

    lines = [f'T.func_attr({{"address_map": {maps[0]}, "size_map": {maps[1]}}})']
    lines += [f't{k} = T.allocate([{64 * count}], "float32", "shared")' for k, count in enumerate(made.rows)]
    for k, reads in enumerate(made.reads):
        lines += ["for i in range(n):"] * (k == made.loop[0])
        call = f"T.ascend_add({', '.join([pointer(k, 2), *(pointer(j, 1) for j in reads)])})"
        lines += [f"{'  ' * (made.loop[0] <= k < made.loop[1])}{call}"]
    lines += [f"T.ascend_copy({pointer(names[-1], 1)})"]
    return "\n".join(["@T.prim_func", "def main(n: T.int32):", *(f"  {line}" for line in lines)]).encode()


def placed(count: int, written: Callable[..., bytes], mark: str) -> Iterator[bytes]:
    """Yield drawn kernels whose tiles, named by a mark and a number, are where XNNPACK's planner places them."""
    planner = reference_planners()["reference:xnnpack-memory-planner"].load()
    for seed in range(count):
        problem = read_model(written(seed)).problem
        offsets = dict.fromkeys(range(10), 0)  # of tiles that are never read there is no buffer
        placements = planner(problem, 0, lambda: None).placements
        offsets |= {int(str(name).rpartition(mark)[2]): placements[k][1] for k, name in enumerate(problem.buffers.ids)}
        yield written(seed, offsets)


def pto(count: int) -> Iterator[bytes]:
    return placed(count, kernel, "%t")


def tilelang(count: int) -> Iterator[bytes]:
    return placed(count, script, "/t")


def onnxruntime(count: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield models with plans: a buffer is reused by a value of its size and stream, behind its last reader there."""
    from onnx import TensorProto, helper

    for seed in range(count):
        draw = random.Random(seed)
        names = ["x", *(f"v{k}" for k in range(draw.randint(4, 12)))]
        stream = [0, *(draw.randrange(2) for _ in names[1:])]
        reads = [[], *([names[draw.randrange(k)] for _ in range(2)] for k in range(1, len(names)))]
        width = {"x": 8} | {name: draw.choice((8, 16)) for name in names[1:]}
        readers: dict[str, list[int]] = {name: [k for k, row in enumerate(reads) if name in row] for name in names}
        kinds, roots, free = {"x": "PreExisting"}, {"x": 0}, [list[int](), list[int]()]
        steps: list[list[str]] = [[], []]
        for k, name in enumerate(names[1:], 1):
            s = stream[k]
            for n in {names.index(each) for each in reads[k] if stream[names.index(each)] != s}:
                steps[s] += [f"WaitOnEP - NotificationId: {n}"] * (n > 0)
            steps[s] += [
                f"LaunchKernel - NodeIndex: {k - 1}, Name: {name}",
                f"ActivateNotification - NotificationId: {k}",
            ]
            same = [root for root in free[s] if width[names[root]] == width[name]]
            roots[name] = same[-1] if same and name != names[-1] else k
            kinds[name] = "AllocateOutput" if name == names[-1] else f"Reuse {roots[name]}" if same else "Allocate"
            free[s] = [root for root in free[s] if root != roots[name]]
            for each in {*reads[k], name} - {"x"}:
                others = [other for other, root in roots.items() if root == roots[each] for _ in readers[other]]
                users = [j for other in {*others, each} for j in (*readers[other], names.index(other))]
                if max(users) == k and all(stream[j] == s for j in users) and roots[each] not in free[s]:
                    free[s].append(roots[each])
        infos = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [8, width[name]]) for name in names}
        nodes = [
            helper.make_node("Concat", row, [name], name=name, axis=1) for name, row in zip(names, reads, strict=True)
        ]
        inside = [infos[name] for name in names[1:-1]]
        graph = helper.make_graph(nodes[1:], "g", [infos["x"]], [infos[names[-1]]], value_info=inside)
        lines = ["(ort_value_idx) output_name : <allocation plan>"]
        lines += [f"({k}){name} : {kind}, Device:[]" for k, (name, kind) in enumerate(kinds.items())]
        for s, row in enumerate(steps):
            lines += [f"Start logic stream: {s} on device: {s}", *row, f"End logic stream : {s}"]
        yield helper.make_model(graph).SerializeToString(), "\n".join(lines).encode()


def imported(data: Printed) -> Imported:
    return read_model(data) if isinstance(data, bytes) else read_plan_as(data[1], data[0], ModelOptions())


def main() -> None:
    kind, *arguments = sys.argv[1:]
    makers: Mapping[str, Callable[[int], Iterator[Printed]]] = {
        "inductor": inductor,
        "pto": pto,
        "tilelang": tilelang,
        "onnxruntime": onnxruntime,
    }
    plans: Iterator[Printed]
    plans = (
        litert()
        if kind == "litert"
        else makers[kind](int(arguments[0]))
        if kind in makers
        else graphs(kind, *arguments)
    )
    count = 0
    for count, data in enumerate(plans, 1):
        model = imported(data)
        assert model.own_plan is not None
        if violations := verify(model.problem, model.own_plan):
            Path("alarm.txt").write_bytes(data if isinstance(data, bytes) else data[1])
            raise SystemExit(f"plan {count}, in alarm.txt: {violations[0].message}")
    print(f"{count} plans, all sound")


if __name__ == "__main__":
    main()
