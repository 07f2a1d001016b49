"""Small files in formats that state lifetimes: recorded files in tests/dumps, and files written here."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.values import buffer_rows

DUMPS = Path(__file__).parents[1] / "dumps"

PACKS = b"""\
util.func public @main(%arg0: !hal.buffer_view) {
  %c64 = arith.constant 64 : index
  %c100 = arith.constant 100 : index
  %0:4 = stream.resource.pack on(#hal.device.affinity<@__device_0>) slices({
    [0, 1] = %c64,
    [1, 2] = %c100,
    [2, 2] = %c64
  }) : index
  %r, %t = stream.resource.alloca uninitialized on(#hal.device) : !stream.resource<transient>{%0#0} => !stream.timepoint
}
"""
_A, _B = buffer_rows(a=(900, 0, 2), b=(800, 1, 3))
_SIZES = {"memory_sizes": [1024, 65536], "memory_alignments": [64, 16], "memory_names": ["dram0", "sysram"]}
_ADDRESSES = {"base_addrs": [0x40000000, 0x60000000], "memory_xml_path": None}
MEMORIES = json.dumps(_SIZES | _ADDRESSES | {"buffers": [_A, _B | {"pools": ["sysram"]}]}).encode()


def node(name: str, func: str | None = None, *inputs: Sequence[int], outputs: int = 1) -> dict[str, Any]:
    """Return a node of a TVM graph: an argument or, with a function, a call."""
    found: dict[str, Any] = {"op": "null", "name": name, "inputs": [list(row) for row in inputs]}
    if func is not None:
        found |= {"op": "tvm_op", "attrs": {"func_name": func, "num_outputs": str(outputs), "flatten_data": "0"}}
    return found


def graph(
    nodes: Sequence[Mapping[str, Any]],
    shapes: Sequence[Sequence[int]],
    storages: Sequence[int],
    heads: Sequence[Sequence[int]],
    dtype: str = "float32",
    **columns: Any,
) -> bytes:
    """Return a graph of TVM's graph executor, with one shape and one storage for each output of each node."""
    first = [0]
    for row in nodes:
        first.append(first[-1] + int(row.get("attrs", {}).get("num_outputs", 1)))
    attrs = {
        "dltype": ["list_str", [dtype] * len(shapes)],
        "device_index": ["list_int", [1] * len(shapes)],
        "storage_id": ["list_int", list(storages)],
        "shape": ["list_shape", [list(shape) for shape in shapes]],
    }
    arguments = [k for k, row in enumerate(nodes) if row["op"] == "null"]
    found = {"nodes": list(nodes), "arg_nodes": arguments, "heads": heads, "attrs": attrs | columns}
    return json.dumps(found | {"node_row_ptr": first}).encode()


def perceptron() -> bytes:
    """Return a graph of two layers with a reshape between them, and an operation of two outputs at the end."""
    nodes = [
        node("x"),
        node("p0"),
        node("dense", "fused_dense", (0, 0, 0), (1, 0, 0)),
        node("reshape", "__nop", (2, 0, 0)),
        node("relu", "fused_relu", (3, 0, 0)),
        node("split", "fused_split", (4, 0, 0), outputs=2),
    ]
    shapes = [(1, 64), (32, 64), (1, 32), (32,), (32,), (16,), (16,)]
    return graph(nodes, shapes, [0, 1, 2, 2, 3, 4, 5], [[5, 0, 0], [5, 1, 0]])


def dump_bytes(*names: str) -> list[bytes]:
    return [(DUMPS / name).read_bytes() for name in names]
