"""Files of other systems: dumps that the systems' own programs wrote, and small handwritten files in their formats."""

import json
import pickle
from collections.abc import Iterator
from pathlib import Path

from tests.runtimes.protobuf_files import message
from tests.runtimes.tflite_files import INT4, INT8, model, operator, subgraph, tensor, two_halves
from tests.support.dump_files import DUMPS, MEMORIES, PACKS, perceptron

MODELS = Path(__file__).resolve().parents[2] / "tests" / "models"


def files() -> Iterator[tuple[str, bytes]]:
    for folder, pattern in ((MODELS, "*.tflite"), (MODELS, "*/*.tflite"), (MODELS, "*.pte"), (DUMPS, "*.*")):
        yield from ((path.name, path.read_bytes()) for path in sorted(folder.glob(pattern)))
    yield from _tflite()
    yield from _xla()
    yield from _packs()
    yield from _tvm()
    yield from _tables()
    yield from _snapshots()


def models() -> Iterator[tuple[str, bytes]]:
    """Yield (unique name, bytes) of further files with operations, which other tests of the project use."""
    # This module needs the package onnx, so import it only here.
    from tests.runtimes import onnx_models

    for folder, pattern in ((MODELS, "ggml/*"), (MODELS, "*.pt2"), (DUMPS / "wrong", "*.*")):
        yield from ((path.name, path.read_bytes()) for path in sorted(folder.glob(pattern)))
    yield "two_halves.tflite", two_halves()
    yield "choice.onnx", onnx_models.choice()
    yield "loop.onnx", onnx_models.loop()
    yield "swaps.onnx", onnx_models.loop(swaps=True)
    yield "scan.onnx", onnx_models.scan()


def _tflite() -> Iterator[tuple[str, bytes]]:
    x, y, z = (tensor(name, (8, 8)) for name in "xyz")
    relu = [operator("RELU", [0], [1]), operator("ADD", [0, 1], [2])]
    chain = subgraph([x, y, z], [0], [2], relu)
    yield "planned.tflite", model(chain, offline_plan=[1, 0, 3, 0, 256, 512])
    yield "planned_wrongly.tflite", model(chain, offline_plan=[1, 0, 3, 0, 128, 512])
    yield "planned_in_part.tflite", model(chain, offline_plan=[1, 0, 3, 0, -1, 512])
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


def _xla() -> Iterator[tuple[str, bytes]]:
    text = (DUMPS / "scan.xla.txt").read_bytes()
    yield "without_lifetimes.xla.txt", text[: text.index(b"HloLiveRange")]
    yield "without_assignment.hlo.pb", message({1: message({1: b"jit_f", 2: b"main"})})


def _packs() -> Iterator[tuple[str, bytes]]:
    yield "hand.mlir", PACKS
    noted = PACKS.replace(b"slices({\n", b"slices({ // three\n    // the first:\n")
    yield "noted.mlir", noted.replace(b",\n", b", // it\n")


def relax(*lines: str, imports: str = "# from tvm.script import relax as R") -> bytes:
    """Return the source of a Relax module with a single function, whose body consists of `lines`."""
    head = f"{imports}\n@I.ir_module\nclass Module:\n    @R.function\n"
    body = "".join(f"        {line}\n" for line in lines)
    return f'{head}    def main(x: R.Tensor((4, "n"), dtype="float32")):\n{body}'.encode()


def _tvm() -> Iterator[tuple[str, bytes]]:
    tied = 'lv = R.call_tir(cls.f, (x,), out_sinfo=R.Tensor((4, 8), dtype="float32"))'
    four = 'R.Tensor((4, 8), dtype="float32")'
    yield "perceptron.graph", perceptron()
    fixed = relax(tied, f"lv1: {four} = R.nn.relu(lv)", "return lv1").replace(b'"n"', b"8")
    yield "told_by_calls.relax", fixed
    yield "in_a_test.relax", b"import tvm\n\ndef test():\n" + b"\n".join(b"    " + row for row in fixed.split(b"\n"))
    yield "two_functions.relax", fixed.replace(b"main", b"a") + b"    @R.function\n    def b():\n        return None\n"
    yield "loops.relax", b"from tvm.script import tir as T\n@T.prim_func\ndef f(a: T.handle):\n    T.evaluate(0)\n"
    yield "broken.relax", fixed.replace(b"return lv1", b"return (")


def _tables() -> Iterator[tuple[str, bytes]]:
    yield "memories.json", MEMORIES
    yield "minimalloc.csv", b"id,lower,upper,size\na,0,2,4\nb,1,3,4\n"
    yield "minimalloc_solved.csv", b"id,lower,upper,size,offset\na,0,2,4,0\nb,1,3,4,6\n"
    yield "closed.csv", b"id,start,end,size\na,0,1,4\nb,1,2,4\n"


def _snapshots() -> Iterator[tuple[str, bytes]]:
    rows = (("alloc", 0, 512), ("alloc", 512, 1024), ("free_completed", 0, 512), ("alloc", 0, 512))
    events = [{"action": action, "addr": addr, "size": size} for action, addr, size in rows]
    found = {"segments": [], "device_traces": [events]}
    yield "snapshot.json", json.dumps(found).encode()
    yield "snapshot.pickle", pickle.dumps(found)
    yield "snapshot_without_history.pickle", pickle.dumps({"segments": [], "device_traces": [[]]})
    yield "snapshot_that_runs.pickle", pickle.dumps({"segments": [print], "device_traces": [events]})
