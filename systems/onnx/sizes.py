"""The sizes that a caller gives to what an ONNX model leaves open: dimensions by name, inputs by their whole shape."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from memplan.planner.errors import MAX_SHOWN, FormatError, OptionError, ProblemError, shown
from memplan.planner.symbols.numbers import SymbolicNumber, SymbolicNumbers
from memplan.planner.symbols.reading import read
from memplan.systems.imported import ModelOptions
from memplan.systems.onnx.model import is_form

if TYPE_CHECKING:
    from onnx import GraphProto, ValueInfoProto

_MOST_DIMENSIONS = 1000
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_COMPUTED = re.compile(r"[\w()]+(?:(?:\s*(?:\+|\*|//)\s*|\s+-\s+)[\w()]+)+", re.ASCII)
"""The name of a dimension that exporters compute from others; one with a dash in it is a name."""
_IMAGE_SIDE = 224
"""The rows and columns that are proposed for images, which most classifiers take."""


def give_sizes(
    graph: GraphProto, values: Iterable[ValueInfoProto], options: ModelOptions, numbers: SymbolicNumbers | None = None
) -> None:
    """Put sizes in the place of names of dimensions of all values, and of those of inputs that have none.

    Raises OptionError for names that the model has not, FormatError where inputs still lack sizes: all in one sentence,
    with the options that give them.
    """
    named = {""}
    for value in values:
        dims = value.type.tensor_type.shape.dim
        if len(dims) > _MOST_DIMENSIONS:
            raise FormatError(f"value {shown(value.name)}: must have at most {_MOST_DIMENSIONS} dimensions")
        for k, dim in enumerate(dims):
            if dim.HasField("dim_value") and dim.dim_value < 0:  # written by some for one that is open
                dim.ClearField("dim_value")
            name = dim.dim_param if dim.HasField("dim_value") else dim_name(value, k)
            named |= {dim.dim_param, *words_in(name).intersection(options.dims)}
            if (size := _size(name, options.dims, numbers)) is None:
                continue
            if isinstance(size, SymbolicNumber):
                dim.dim_param = size.numbers.text(size)
            else:
                dim.dim_value = size
    if unknown := [name for name in options.dims if name not in named]:
        known = ", ".join(sorted(named - {""})[:MAX_SHOWN]) or "none"
        raise OptionError(f"dim: must be a dimension that the model names ({known}), got {shown(unknown[0])}")
    constants = {tensor.name for tensor in graph.initializer}
    inputs = {value.name: value for value in graph.input if value.name not in constants}
    for name, sizes in options.shape.items():
        _give_shape(inputs, name, sizes)
    _request_sizes([value for value in inputs.values() if value.type.WhichOneof("value") == "tensor_type"])


def _size(name: str, dims: Mapping[str, int], numbers: SymbolicNumbers | None) -> int | None:
    """Return the size of a dimension by its name, or by what the name computes from others, `past + 1`; or None."""
    if name in dims or not words_in(name).issubset(dims):
        return dims.get(name)
    text = _WORD.sub(lambda found: f"({dims[found[0]]})", name)
    numbers = numbers or SymbolicNumbers(())
    try:
        return numbers.of(read(text, numbers.space, "dim"))
    except ProblemError:
        return None


def open_names(graph: GraphProto) -> list[str]:
    """Return the names of the dimensions of inputs in order, those alone that others are computed from."""
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    found = (
        word
        for value in inputs
        for k, dim in enumerate(value.type.tensor_type.shape.dim)
        if not dim.HasField("dim_value") or dim.dim_value < 0
        for word in sorted(words_in(dim_name(value, k)))
    )
    return list(dict.fromkeys(found))


def words_in(name: str) -> set[str]:
    """Return the names that the name of a dimension computes with, as `past` in `past + 1`; or else itself."""
    return set(_WORD.findall(name)) if _COMPUTED.fullmatch(name) else {name}


def dim_name(value: ValueInfoProto, axis: int) -> str:
    """Return the name of a dimension; one that has none has that of its value, and its place: `image.2`."""
    name = value.type.tensor_type.shape.dim[axis].dim_param
    return name if name.strip("?, ") else f"{value.name}.{axis}"


def _give_shape(inputs: Mapping[str, ValueInfoProto], name: str, sizes: tuple[int, ...]) -> None:
    if name not in inputs:
        known = ", ".join(sorted(inputs)[:MAX_SHOWN]) or "none"
        raise OptionError(f"shape: must be of an input of the model ({known}), got {shown(name)}")
    kind = inputs[name].type.tensor_type
    dims = list(kind.shape.dim)
    said = ",".join(str(dim.dim_value) if dim.HasField("dim_value") else "?" for dim in dims)
    fits = not kind.HasField("shape") or len(dims) == len(sizes)
    pairs = zip(dims, sizes, strict=False)
    if not fits or any(dim.HasField("dim_value") and dim.dim_value != size for dim, size in pairs):
        got = ",".join(map(str, sizes))
        raise OptionError(f"shape: must fit what the model says of {shown(name)} ({said}), got {got}")
    del kind.shape.dim[:]
    for size in sizes:
        kind.shape.dim.add(dim_value=size)


def _request_sizes(inputs: list[ValueInfoProto]) -> None:
    """Raise FormatError where inputs lack sizes, with an option for each name of a dimension, or for the input."""
    dims: dict[str, int] = {}
    shapes: dict[str, str] = {}
    without: list[str] = []
    for value in inputs:
        kind = value.type.tensor_type
        rows = list(kind.shape.dim)
        missing = [k for k, dim in enumerate(rows) if not (dim.HasField("dim_value") or is_form(dim.dim_param))]
        if not kind.HasField("shape"):
            without.append(value.name)
        elif all(rows[k].dim_param.isprintable() and rows[k].dim_param.strip("?, ") for k in missing):
            dims.update((rows[k].dim_param, _proposed(k, len(rows))) for k in missing if "," not in rows[k].dim_param)
            missing = [k for k in missing if "," in rows[k].dim_param]
        if missing:
            sizes = [
                dim.dim_value if dim.HasField("dim_value") else _proposed(k, len(rows)) for k, dim in enumerate(rows)
            ]
            shapes[value.name] = ",".join(map(str, sizes))
    if without:
        rule = "must have a number of dimensions"
        example = shlex.quote(f"{without[0]}=1,3,{_IMAGE_SIDE},{_IMAGE_SIDE}")
        raise FormatError(f"inputs: {rule}, got none for {shown(without[0])}; give its shape, as in --shape {example}")
    if not dims and not shapes:
        return
    open_names = [*(f"dimension {shown(name)}" for name in dims), *(f"a size of {shown(name)}" for name in shapes)]
    flags = [f"--dim {shlex.quote(f'{name}={size}')}" for name, size in dims.items()]
    flags += [f"--shape {shlex.quote(f'{name}={sizes}')}" for name, sizes in shapes.items()]
    got = f"{', '.join(open_names[:MAX_SHOWN])} open"
    raise FormatError(f"inputs: must have sizes, got {got}; give them, for example: {' '.join(flags[:MAX_SHOWN])}")


def _proposed(axis: int, rank: int) -> int:
    return _IMAGE_SIDE if rank == 4 and axis >= 2 else 1
