"""The names of operation kinds, which are the same for all file formats, and the meaning of their attributes.

The attributes `kernel`, `strides` and `dilations` are lists with one entry for each spatial axis. `pads` lists the
padding before each axis, then the padding after each axis. `groups`, `axis` and `block` are integers. `layout` is the
axis of the channels.
"""

import re
from collections.abc import Iterable, Mapping
from math import isfinite

from memplan.programs.operations.graph_facts import Attribute

MOST_NUMBERS = 64
"""The maximum length of a list of numbers that is stored as an attribute."""
_MOST_LETTERS = 100
_SAME = frozenset("""
abs add argmax argmin batch_norm call cast ceil clip concat conv2d conv2d_transpose cos depth_to_space dequantize div
dropout dynamic_update_slice elu equal erf exp floor fully_connected gather gelu global_average_pool global_max_pool
greater hard_sigmoid hard_swish identity if layer_norm leaky_relu less log loop lrn matmul max_pool2d maximum minimum
mish mul neg not pad pow prelu quantize reciprocal reduce reduce_max reduce_mean reduce_sum relu relu6 reshape round
rsqrt scan sigmoid sign sin slice softmax softplus space_to_depth split sqrt square sub tanh tile transpose where
""".split())  # fmt: skip  # noqa: SIM905
"""The kinds that have the same name in all formats, such as `leaky_relu`, `LEAKY_RELU` or `LeakyRelu`."""
_NEXT_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


def types_by_number(names: str) -> dict[int, str]:
    """Map the numbers 0, 1, ... to the space-separated names of element types in `names`; `-` skips a number."""
    return {number: name for number, name in enumerate(names.split()) if name != "-"}


def kinds_by_name(names: Mapping[str, str]) -> dict[str, str]:
    """Map each operation name of a file format to its kind; `names` maps a kind to its space-separated names."""
    return {name: kind for kind, row in names.items() for name in row.split()}


HLO_KINDS = kinds_by_name(
    {
        "matmul": "dot",
        "mul": "multiply",
        "sub": "subtract",
        "div": "divide",
        "cast": "convert",
        "neg": "negate",
        "concat": "concatenate",
        "sigmoid": "logistic",
        "exp": "exponential",
        "sin": "sine",
        "cos": "cosine",
        "pow": "power",
        "round": "round-nearest-even round-nearest-afz round_nearest_even round_nearest_afz",
    }
)
"""The kinds of operations whose names in XLA and StableHLO differ from memplan's names."""


def attribute_of(value: object) -> Attribute | None:
    """Return a value as an attribute, or None for an object, a long list, or an infinite or too large number."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value if _is_small(value) else None
    if isinstance(value, str):
        return value if len(value) <= _MOST_LETTERS and value.isprintable() else None
    if not isinstance(value, list | tuple) or len(value) > MOST_NUMBERS:
        return None
    fits = all(isinstance(one, int | float) and not isinstance(one, bool) and _is_small(one) for one in value)
    return tuple(value) if fits else None


def plain_attributes(found: Iterable[tuple[str, object]]) -> dict[str, Attribute]:
    """Return the attributes whose values `attribute_of` can represent, by name."""
    plain_values = ((name, attribute_of(value)) for name, value in found)
    return {name: value for name, value in plain_values if name and value is not None}


def kind_of(name: str, kinds: Mapping[str, str]) -> str | None:
    """Return the kind of an operation with this name, by the map `kinds` of its format, or None if it is unknown."""
    words = name.lower(), _NEXT_WORD.sub("_", name).lower()
    return kinds.get(name) or next((word for word in words if word in _SAME), None)


def _is_small(value: float) -> bool:
    return -(2**63) <= value < 2**63 if isinstance(value, int) else isfinite(value)
