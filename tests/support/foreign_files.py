"""Files of other systems by name: what their own programs wrote, and small ones written here in their formats."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.dump_files import DUMPS, MEMORIES, PACKS, graph, node, perceptron
from tests.support.protobuf_files import message
from tests.support.tflite_files import INT4, INT8, STRING, flatbuffer, model, operator, subgraph, tensor

MODELS = Path(__file__).parents[1] / "models"
_MLIR = b"%c8 = arith.constant 8 : index\n"


def files() -> Iterator[tuple[str, bytes]]:
    """Yield (name, bytes); names are unique."""
    for folder, pattern in ((MODELS, "*.tflite"), (MODELS, "*/*.tflite"), (MODELS, "*.pte"), (DUMPS, "*.*")):
        yield from ((path.name, path.read_bytes()) for path in sorted(folder.glob(pattern)))
    yield from _tflite()
    yield from _executorch()
    yield from _xla()
    yield from _packs()
    yield from _tvm()
    yield from _tables()
    yield from _snapshots()


def _tflite() -> Iterator[tuple[str, bytes]]:
    x, y, z = (tensor(name, (8, 8)) for name in "xyz")
    relu = [operator("RELU", [0], [1]), operator("ADD", [0, 1], [2])]
    chain = subgraph([x, y, z], [0], [2], relu)
    good = model(chain)
    yield "planned.tflite", model(chain, offline_plan=[1, 0, 3, 0, 256, 512])
    yield "planned_wrongly.tflite", model(chain, offline_plan=[1, 0, 3, 0, 128, 512])
    yield "planned_in_part.tflite", model(chain, offline_plan=[1, 0, 3, 0, -1, 512])
    yield "planned_for_others.tflite", model(chain, offline_plan=[1, 0, 2, 0, 256])
    packed = [tensor("x", (3, 3), INT4), tensor("y", (9,), INT8)]
    yield "four_bits.tflite", model(subgraph(packed, [0], [1], [operator("RELU", [0], [1])]))
    yield "of_nobody.tflite", model(subgraph([x, y], [0], [1], [operator("my_op", [0], [1])]))
    axes = tensor("axes", (1,), 2, constant=True)
    yield "mean.tflite", model(subgraph([x, axes, y], [0], [2], [operator("MEAN", [0, 1], [2])]))
    commands = [tensor(name, (16,), INT8, constant=True) for name in ("commands", "weights")]
    areas = [tensor("scratch", (256,), INT8), tensor("in", (64,), INT8), tensor("out", (64,), INT8)]
    compiled = subgraph([*commands, *areas], [3], [4], [operator("ethos-u", [0, 1, 2, 2, 3], [4])])
    yield "vela_without_places.tflite", model(compiled)
    yield "open.tflite", model(subgraph([tensor("x", (1, 8), signature=[-1, 8]), y], [0], [1], relu[:1]))
    yield "known_at_run_time.tflite", model(subgraph([x, tensor("y", (1, 8), signature=[-1, 8])], [0], [1], relu[:1]))
    yield "strings.tflite", model(subgraph([x, tensor("y", (1,), STRING)], [0], [1], relu[:1]))
    yield "case.tflite", model(subgraph([x, y], [0], [1], [operator("CASE", [0], [1])]))
    yield "read_before.tflite", model(subgraph([x, y, z], [0], [2], relu[1:]))
    yield "cut.tflite", good[: len(good) // 2]
    yield "not_one.tflite", b"\0\0\0\0TFL9" + bytes(64)


def _executorch() -> Iterator[tuple[str, bytes]]:
    data = (MODELS / "split_cat.pte").read_bytes()
    yield "cut.pte", data[: len(data) // 2]
    yield "not_one.pte", b"<html>there is no such page</html>"
    yield "without_methods.pte", flatbuffer({0: ("I", 0)}, b"ET12")


def _xla() -> Iterator[tuple[str, bytes]]:
    text = (DUMPS / "scan.xla.txt").read_bytes()
    yield "without_lifetimes.xla.txt", text[: text.index(b"HloLiveRange")]
    yield "without_assignment.hlo.pb", message({1: message({1: b"jit_f", 2: b"main"})})
    yield "unknown_value.xla.txt", text.replace(b" value: <29", b" value: <29 of", 1)
    binary = (DUMPS / "scan.hlo.pb").read_bytes()
    yield "cut.hlo.pb", binary[: len(binary) // 2]


def _packs() -> Iterator[tuple[str, bytes]]:
    yield "hand.mlir", PACKS
    yield (
        "noted.mlir",
        PACKS.replace(b"slices({\n", b"slices({ // three\n    // the first:\n").replace(b",\n", b", // it\n"),
    )
    yield "dynamic.mlir", _MLIR + b"%t, %a = stream.resource.pack slices({[0, 1] = %n}) : index\n"
    yield "backwards.mlir", _MLIR + b"%t, %a = stream.resource.pack slices({[2, 1] = %c8}) : index\n"
    yield "without_packs.mlir", b"module { func.func @f() { return } }\n"


def relax(*lines: str, imports: str = "# from tvm.script import relax as R") -> bytes:
    """Return a module with one function of such a body."""
    head = f"{imports}\n@I.ir_module\nclass Module:\n    @R.function\n"
    body = "".join(f"        {line}\n" for line in lines)
    return f'{head}    def main(x: R.Tensor((4, "n"), dtype="float32")):\n{body}'.encode()


def _tvm() -> Iterator[tuple[str, bytes]]:
    tied = 'lv = R.call_tir(cls.f, (x,), out_sinfo=R.Tensor((4, 8), dtype="float32"))'
    four = 'R.Tensor((4, 8), dtype="float32")'
    yield "perceptron.graph", perceptron()
    yield "open.relax", relax(tied, "return lv")
    fixed = relax(tied, f"lv1: {four} = R.nn.relu(lv)", "return lv1").replace(b'"n"', b"8")
    yield "told_by_calls.relax", fixed
    yield "in_a_test.relax", b"import tvm\n\ndef test():\n" + b"\n".join(b"    " + row for row in fixed.split(b"\n"))
    yield "unannotated.relax", relax("lv = R.add(x, x)", "return lv").replace(b'"n"', b"8")
    yield "branch.relax", relax("if x:", "    y = x").replace(b'"n"', b"8")
    yield "two_modules.relax", fixed + fixed.split(b"\n", 1)[1].replace(b"Module", b"Expected")
    yield "two_functions.relax", fixed.replace(b"main", b"a") + b"    @R.function\n    def b():\n        return None\n"
    yield "loops.relax", b"from tvm.script import tir as T\n@T.prim_func\ndef f(a: T.handle):\n    T.evaluate(0)\n"
    yield "broken.relax", fixed.replace(b"return lv1", b"return (")
    row = [node("x"), node("y", "fused", (0, 0, 0))]
    yield "without_shapes.graph", graph(row, [(4,), (4,)], [0, 1], [[1, 0, 0]]).replace(b'"shape"', b'"form"')


def _tables() -> Iterator[tuple[str, bytes]]:
    yield "memories.json", MEMORIES
    yield "memories_without_sizes.json", json.dumps({"memory_names": ["a"]}).encode()
    yield "minimalloc.csv", b"id,lower,upper,size\na,0,2,4\nb,1,3,4\n"
    yield "minimalloc_solved.csv", b"id,lower,upper,size,offset\na,0,2,4,0\nb,1,3,4,6\n"
    yield "closed.csv", b"id,start,end,size\na,0,1,4\nb,1,2,4\n"
    yield "other_columns.csv", b"buffer_id,start,end,size\na,0,1,4\nb,1,2,4\n"


def _snapshots() -> Iterator[tuple[str, bytes]]:
    def event(action: str, addr: int, size: int) -> dict[str, Any]:
        return {"action": action, "addr": addr, "size": size}

    events = [
        event("alloc", 0, 512),
        event("alloc", 512, 1024),
        event("free_completed", 0, 512),
        event("alloc", 0, 512),
    ]
    found = {"segments": [], "device_traces": [events]}
    yield "snapshot.json", json.dumps(found).encode()
    yield "snapshot.pickle", pickle.dumps(found)
    yield "snapshot_without_history.pickle", pickle.dumps({"segments": [], "device_traces": [[]]})
    yield "snapshot_that_runs.pickle", pickle.dumps({"segments": [print], "device_traces": [events]})
