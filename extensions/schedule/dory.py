"""Networks of DORY, a tiler for microcontrollers, read from DORY's list of nodes in JSON.

Each node has a `name`, parameters under `DORY_node_parameters` and `Layer_node_parameters`, and optionally `Weights`.
The names that nodes use for their inputs and outputs identify the tensors; a tensor that no node writes is an input.
Source: dory/Parsers in pulp-platform/dory.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from memplan.planner.errors import FormatError, excerpt
from memplan.programs.operations.graph import OperationGraph, graph_from

_OWN = ("DORY_node_parameters", "Layer_node_parameters")
_KINDS = {"Convolution": "conv2d", "FullyConnected": "fully_connected", "Addition": "add"}
_TYPES = {8: "int8", 16: "int16", 32: "int32"}


def nodes_of(fields: object) -> list[Mapping[str, Any]] | None:
    """Return the nodes in a DORY file's JSON: a list, an object with one list, or nodes by name; else None."""
    if isinstance(fields, Mapping):
        lists = [value for value in fields.values() if isinstance(value, list)]
        fields = lists[0] if len(lists) == 1 else list(fields.values())
    is_dory = isinstance(fields, list) and fields and all(isinstance(row, Mapping) and _OWN[1] in row for row in fields)
    return fields if is_dory and isinstance(fields, list) else None


def graph_of(nodes: Sequence[Mapping[str, Any]]) -> OperationGraph:
    """Return DORY's nodes as a graph of operations; raises FormatError for an unknown kind or a missing parameter."""
    tensors, sizes, ops, numbers = list[dict[str, Any]](), list[int](), list[dict[str, Any]](), dict[str, int]()
    resident = list[int]()

    def add_tensor(name: str, shape: list[int], bits: int) -> int:
        """Return the number of tensor `name`, added if it is new; raises FormatError unless it has 8, 16 or 32 bits."""
        if bits not in _TYPES and name not in numbers:
            raise FormatError(f"{name}: must have 8, 16 or 32 bits per element, got {bits}")
        if name not in numbers:
            numbers[name] = len(sizes)
            tensors.append({"name": name, "shape": shape, "dtype": _TYPES[bits]})
            sizes.append(prod(shape) * bits // 8)
        return numbers[name]

    for k, node in enumerate(nodes):
        row = {key: value for part in _OWN for key, value in node.get(part, {}).items() if value is not None}
        row["name"] = node.get("name", "")
        kind = _kind_of_node(row, k)
        try:
            into, made = [1, *row["input_dimensions"], row["input_channels"]], row["output_dimensions"]
            bits, out_bits = row.get("input_activation_bits", 8), row.get("output_activation_bits", 8)
            read = [add_tensor(name, into, bits) for name in row["input_indexes"]]
            out = add_tensor(row["output_index"], [1, *made, row["output_channels"]], out_bits)
            constants = row.get("weight_memory", 0) + row.get("bias_memory", 0) + row.get("constants_memory", 0)
            if constants:
                read.append(add_tensor(f"{row['output_index']}, constants", [constants], 8))
                resident.append(read[-1])
            attributes: dict[str, object] = {"layout": "NHWC"}
            if "2d" in kind:
                attributes |= {"kernel": row["kernel_shape"], "strides": row["strides"], "pads": row["pads"]}
                attributes |= {"dilations": row.get("dilations") or [1, 1]}
        except (KeyError, TypeError) as error:
            raise FormatError(
                f"nodes[{k}]: must have the fields of a DORY layer, {error} is missing or invalid"
            ) from error
        ops.append({"kind": kind, "in": read, "out": [out], "name": row["name"] or None, "attributes": attributes})
    read_names = {t for op in ops for t in op["in"]}
    outputs = [op["out"][0] for op in ops if op["out"][0] not in read_names]
    return graph_from({"size": sizes, "kept": outputs, "resident": resident, "tensors": tensors, "ops": ops})


def _kind_of_node(row: Mapping[str, Any], k: int) -> str:
    """Return memplan's kind of a DORY node, which follows from the name of its layer or operator."""
    name, op = str(row["name"]), str(row.get("op_type", ""))
    if "Pool" in name or "Pool" in op:
        return "max_pool2d" if "Max" in op or "Max" in name else "average_pool2d"
    kind = next((kind for word, kind in _KINDS.items() if word in name), None)
    if kind is None:
        raise FormatError(
            f"nodes[{k}].name: must be a Convolution, FullyConnected, Pooling or Addition, got {excerpt(name)}"
        )
    return "depthwise_conv2d" if kind == "conv2d" and row.get("group", 1) == row.get("input_channels") != 1 else kind
