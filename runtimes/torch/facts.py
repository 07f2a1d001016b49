"""Functions that collect the facts about a PyTorch graph's values and operations, such as kinds and attributes.

Source: torch 2.13, aten's native_functions.yaml; FunctionSchema.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memplan.programs.operations.graph_facts import Attribute, OperationFacts, TensorFacts, bits_of
from memplan.programs.readers.aten import kind_of_aten
from memplan.programs.readers.vocabulary import plain_attributes

_WINDOWS = {"max_pool2d_with_indices", "max_pool2d", "avg_pool2d"}
_ATTRIBUTES = {"stride": "strides", "kernel_size": "kernel", "dilation": "dilations", "dim": "axis"}
_BY_CHANCE = "nondeterministic_seeded"


def node_facts(node: Any, k: int) -> OperationFacts:
    """Return the kind, the attributes and other facts of node number `k` of a torch.fx graph."""
    schema = getattr(node.target, "_schema", None)
    name = schema.name if schema is not None else ""
    attributes = plain_attributes(_named_arguments(node, schema))
    kind = kind_of_aten(name)
    if name == "aten::convolution":
        kind, attributes = _convolution_facts(node, attributes)
    elif name.rpartition("::")[2] in _WINDOWS:
        attributes = _pooling_attributes(attributes)
    elif kind == "pad":
        attributes = _pad_attributes(node, attributes)
    return OperationFacts(str(node.name), kind, attributes, (k,))


def draws_random_numbers(node: Any) -> bool:
    """Return True if an operation draws random numbers, according to its tags."""
    return any(str(getattr(tag, "name", tag)) == _BY_CHANCE for tag in getattr(node.target, "tags", ()))


def value_facts(name: str, value: Any, shape: Sequence[int]) -> TensorFacts:
    """Return the name, the type and the known shape of one value of a node."""
    dtype = str(getattr(value, "dtype", "")).removeprefix("torch.")
    return TensorFacts(name=name or None, shape=tuple(shape), dtype=dtype if dtype and bits_of(dtype) else None)


def _named_arguments(node: Any, schema: Any) -> Iterator[tuple[str, object]]:
    for k, argument in enumerate(schema.arguments if schema is not None else ()):
        if k < len(node.args) and not argument.kwarg_only:
            value = node.args[k]
        elif argument.name in node.kwargs:
            value = node.kwargs[argument.name]
        else:
            value = getattr(argument, "default_value", None)
        yield _ATTRIBUTES.get(argument.name, argument.name), value


def _pooling_attributes(attributes: dict[str, Attribute]) -> dict[str, Attribute]:
    window = dict(attributes)
    kernel, pads = _as_pair(window.get("kernel"), 1), _as_pair(window.pop("padding", None), 0)
    window |= {"kernel": kernel, "strides": _as_pair(window.get("strides"), 1) if window.get("strides") else kernel}
    return {**window, "dilations": _as_pair(window.get("dilations"), 1), "pads": (*pads, *pads), "layout": "NCHW"}


def _pad_attributes(node: Any, attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    others = {name: value for name, value in attributes.items() if name != "pad"}
    pad, value = attributes.get("pad"), getattr(node.args[0], "meta", {}).get("val")
    if not isinstance(pad, tuple) or value is None or len(pad) % 2 or len(pad) > 2 * len(value.shape):
        return others
    rest = (0,) * (len(value.shape) - len(pad) // 2)
    return others | {"pads": (*rest, *pad[-2::-2], *rest, *pad[::-2])}


def _as_pair(value: Attribute | None, default: int) -> tuple[int | float, ...]:
    listed = value if isinstance(value, tuple) and value else (value if isinstance(value, int) else default,)
    return listed * 2 if len(listed) == 1 else listed


def _convolution_facts(node: Any, attributes: Mapping[str, Attribute]) -> tuple[str | None, dict[str, Attribute]]:
    """Return the kind and the attributes of a convolution; the kind is None if its shapes are unknown."""
    image, weight = (getattr(node.args[k], "meta", {}).get("val") for k in (0, 1))
    padding, groups = attributes.get("padding"), attributes.get("groups")
    if weight is None or image is None or not isinstance(padding, tuple):
        return None, dict(attributes)
    kernel = tuple(int(size) for size in weight.shape[2:])
    plain = {name: attributes[name] for name in ("strides", "dilations", "groups") if name in attributes}
    fields: dict[str, Attribute] = {**plain, "kernel": kernel, "pads": (*padding, *padding), "layout": "NCHW"}
    word = f"conv{len(kernel)}d"
    if attributes.get("transposed"):
        return f"{word}_transpose", fields
    is_depthwise = isinstance(groups, int) and 1 < groups == image.shape[1] and weight.shape[1] == 1
    return f"depthwise_{word}" if is_depthwise else word, fields
