"""Facts (kinds and attributes) about the calls of a Relax program, which the question `plan` does not need."""

import ast

from memplan.programs.operations.graph_facts import Attribute, OperationFacts
from memplan.programs.readers.vocabulary import kind_of, kinds_by_name, plain_attributes

_KINDS = kinds_by_name(
    {
        "average_pool2d": "avg_pool2d",
        "fully_connected": "dense",
        "leaky_relu": "leakyrelu",
        "transpose": "permute_dims",
        "reduce_mean": "mean",
        "mul": "multiply",
        "sub": "subtract",
        "div": "divide",
        "cast": "astype",
        "slice": "strided_slice",
        "resize": "resize2d",
        "neg": "negative",
    }
)
_RENAMED = {"padding": "pads", "dilation": "dilations", "pool_size": "kernel", "data_layout": "layout"}


def call_facts(op: str, call: ast.Call | None, k: int) -> OperationFacts:
    """Return the facts about operation number `k`: its kind, if it is one of TVM's operators, and its attributes."""
    keywords = [] if call is None else [(row.arg or "", row.value) for row in call.keywords]
    attributes = plain_attributes((_RENAMED.get(name, name), _literal_value(value)) for name, value in keywords)
    kind = kind_of(op.rpartition(".")[2], _KINDS) if op.startswith("R.") else None
    return OperationFacts(op, kind, _expand_pads(attributes), (k,))


def _expand_pads(attributes: dict[str, Attribute]) -> dict[str, Attribute]:
    """Return attributes with the pads before all axes, followed by the pads after them, as in ONNX.

    Two pads are taken to be equal on both sides of an axis.
    """
    width = attributes.get("pad_width")
    if isinstance(width, tuple) and not len(width) % 2:
        others = {name: value for name, value in attributes.items() if name not in ("pad_width", "pad_mode")}
        return {**others, "pads": (*width[::2], *width[1::2]), "mode": attributes.get("pad_mode", "constant")}
    pads = attributes.get("pads")
    if isinstance(pads, tuple) and len(pads) == 2:
        return {**attributes, "pads": (*pads, *pads)}
    return attributes


def _literal_value(found: ast.expr) -> object:
    """Return the value of a Python literal, or None for any other expression."""
    try:
        return ast.literal_eval(found)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
