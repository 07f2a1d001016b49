"""The layout of each tensor, known at some operations and propagated from there through all other operations.

A layout has a letter for each axis: N for the images of a batch, H for rows, W for columns, C for channels. Channels
may occupy several axes, before and after rows and columns, because reordering channels alone moves no pixel.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from memplan.programs.operations.graph import GraphOperation, OperationGraph

_MIXING = frozenset({"gather", ""})
"""The kinds of operations whose output axes may differ from the input axes, so layouts do not propagate across them."""
_NAMED = {"NHWC": ("", "C", "HC", "NHC", "NHWC"), "NCHW": ("", "C", "HC", "NCH", "NCHW")}
CHOOSING = frozenset({"argmax", "argmin"})
"""The kinds of operations that reduce one axis, such as the channels of a pixel, to one number."""
_BY_ROWS = frozenset({"fully_connected", "matmul"})
Shape = tuple[int, ...]


def named_layout(name: str, rank: int) -> str | None:
    """Return the axis letters of layout `name` (NHWC or NCHW) for `rank` axes; None for more than four axes."""
    return _NAMED[name][rank] if name in _NAMED and rank < 5 else None


def family_of(layout: str) -> str:
    """Return NHWC for a layout whose channels come last, NCHW if they come first, and any other layout unchanged."""
    letters = "".join(dict.fromkeys(layout))
    return {"NHWC": "NHWC", "NHC": "NHWC", "HC": "NHWC", "NCHW": "NCHW", "NCH": "NCHW"}.get(letters, layout)


def layouts_of(graph: OperationGraph) -> list[str | None]:
    """Return the layout of each tensor of a graph, or None if it cannot be derived.

    An operation's attribute `layout` is the layout of its inputs and outputs. Other operations propagate layouts;
    transpositions and reshapes of channels change them. At an operation along the last axis, three axes are batch, rows
    and channels. By default, tensors of four axes have the layout of the first operation with that attribute, and
    tensors of three axes are batch, rows and channels.
    """
    return _LayoutPropagation(graph).run()


def transposed_layout(layout: str, axes: Sequence[int]) -> str | None:
    """Return the layout after a transposition, where axis k is input axis axes[k]; None unless `axes` permute them."""
    return "".join(layout[k] for k in axes) if sorted(axes) == list(range(len(layout))) else None


def reshaped_layout(layout: str, shape: Shape, wanted: Shape) -> str | None:
    """Return the layout after a reshape from `shape` to `wanted`; None if rows or columns are split or merged."""
    letters, k = "", 0
    if prod(shape) != prod(wanted) or prod(shape) == 0:
        return None
    if all(size == 1 or letter == "C" for size, letter in zip(shape, layout, strict=True)):
        names = (named_layout(name, len(wanted)) or "C" * len(wanted) for name in _NAMED)
        return next((n for n in names if all(s == 1 or c == "C" for s, c in zip(wanted, n, strict=True))), None)
    rest = list(shape)
    for size in wanted:
        # An axis of size 1 may be an old axis, columns or channels, so decide by its neighbours.
        if size == 1:
            is_column = letters.endswith("H") and "W" not in layout
            letters += layout[k] if k < len(rest) and rest[k] == shape[k] == 1 else "W" if is_column else "C"
            k += k < len(rest) and rest[k] == 1
            continue
        while k < len(rest) and rest[k] == 1:
            k += 1
        letter, remaining_size = layout[k], size
        while remaining_size > 1:
            if k == len(rest) or (layout[k] != letter and rest[k] > 1):
                return None
            part = min(remaining_size, rest[k])
            if remaining_size % part or rest[k] % part or (letter in "HW" and (part != shape[k] or part != size)):
                return None
            remaining_size, rest[k] = remaining_size // part, rest[k] // part
            k += rest[k] == 1
        letters += letter
    return letters


def remove_channels(layout: str, axis: object, shape: Shape, made: Shape) -> str | None:
    """Return the layout without the channel axis, which is reduced; None if another axis may have been reduced."""
    along = [k for k in range(len(shape)) if shape[:k] + shape[k + 1 :] == made]
    along = [axis % len(shape)] if isinstance(axis, int) else along
    return (
        layout.replace("C", "") if len(along) == 1 and layout.count("C") == 1 == layout[along[0]].count("C") else None
    )


def permutation_of(row: GraphOperation) -> tuple[int, ...]:
    """Return the axis permutation of a transposition, from whichever attribute states it; empty if it is unknown."""
    for name in ("perm", "axes", "dims"):
        value = row.attributes.get(name)
        if isinstance(value, tuple) and all(isinstance(one, int) for one in value):
            return tuple(int(one) + (len(value) if one < 0 else 0) for one in value)
    return ()


class _LayoutPropagation:
    """The propagation of layouts from tensor to tensor along the operations of a graph."""

    def __init__(self, graph: OperationGraph) -> None:
        """Collect each operation's tensors, before any layout is known; constants take no part in the propagation."""
        self.graph, self.found = graph, dict[int, str]()
        apart = set(graph.resident)
        self.around = [
            [t for t in dict.fromkeys((*row.inputs, *row.outputs)) if t not in apart and self._shape(t)]
            for row in graph.ops
        ]
        self.touching: dict[int, list[int]] = {}
        for position, tensors in enumerate(self.around):
            for tensor in tensors:
                self.touching.setdefault(tensor, []).append(position)

    def run(self) -> list[str | None]:
        """Return the layout of each tensor after all propagation; None if it cannot be derived."""
        graph = self.graph
        layout = next((str(row.attributes["layout"]) for row in graph.ops if "layout" in row.attributes), "NHWC")
        for row, around in zip(graph.ops, self.around, strict=True):
            if "layout" in row.attributes:
                makes = [t for t in around if t in row.outputs]
                self._set_layouts([*around[:1], *makes], str(row.attributes["layout"]))
        self._propagate_from(list(self.found))
        for row, around in zip(graph.ops, self.around, strict=True):
            if row.kind in _BY_ROWS or (row.kind == "layer_norm" and row.attributes.get("axis", -1) in (-1, 2)):
                self._propagate_from(self._set_layouts([t for t in around if len(self._shape(t)) == 3], "NHWC"))
        for around in self.around:
            for tensor in around:
                self._propagate_from(self._set_layouts([tensor], layout if len(self._shape(tensor)) == 4 else "NHWC"))
        return [self.found.get(t, named_layout("NHWC", len(self._shape(t)))) for t in range(len(graph.size))]

    def _shape(self, tensor: int) -> Shape:
        return (self.graph.tensors[tensor].shape if self.graph.tensors else None) or ()

    def _set_layouts(self, tensors: list[int], name: str) -> list[int]:
        new = []
        for tensor in tensors:
            layout = named_layout(name, len(self._shape(tensor)))
            if tensor not in self.found and layout:
                self.found[tensor] = layout
                new.append(tensor)
        return new

    def _propagate_from(self, tensors: list[int]) -> None:
        """Derive layouts of further tensors from the given ones, along the operations, until no new layout follows."""
        waiting = deque(tensors)
        while waiting:
            tensor = waiting.popleft()
            for position in self.touching[tensor]:
                for other in self.around[position]:
                    layout = None if other in self.found else self._derived_layout(position, tensor, other)
                    if layout is not None:
                        self.found[other] = layout
                        waiting.append(other)

    def _shape_in_operation(self, row: GraphOperation, tensor: int) -> Shape:
        places, shapes = (row.inputs, row.in_shapes) if tensor in row.inputs else (row.outputs, row.out_shapes)
        return (shapes[places.index(tensor)] if shapes else None) or self._shape(tensor)

    def _derived_layout(self, position: int, known: int, other: int) -> str | None:
        """Return the layout of tensor `other`, derived across an operation from that of tensor `known`, or None."""
        row = self.graph.ops[position]
        mine, theirs = self._shape_in_operation(row, known), self._shape_in_operation(row, other)
        layout = reshaped_layout(self.found[known], self._shape(known), mine)
        if layout is None or (row.kind or "") in _MIXING:
            return None
        if row.kind in ("transpose", "reshape"):
            if (known in row.inputs) == (other in row.inputs):
                return None
            layout = self._layout_across(row, layout, known in row.inputs, (mine, theirs))
        elif row.kind in CHOOSING and len(theirs) == len(mine) - 1:
            layout = remove_channels(layout, row.attributes.get("axis"), mine, theirs)
        elif len(theirs) != len(mine):
            return None
        elif row.kind in _BY_ROWS:
            first = next((t for t in row.inputs if t in self.around[position]), None)
            if not {known, other} <= {first, *row.outputs} or mine[:-1] != theirs[:-1]:
                return None
        elif any(a == 1 < b for a, b in zip(mine, theirs, strict=True)):
            return None  # An axis of size 1 does not determine the layout of a longer axis, so return None.
        return None if layout is None else reshaped_layout(layout, theirs, self._shape(other))

    def _layout_across(
        self, row: GraphOperation, layout: str, is_forward: bool, shapes: tuple[Shape, Shape]
    ) -> str | None:
        if row.kind == "reshape":
            return reshaped_layout(layout, *shapes)
        axes = permutation_of(row)
        if sorted(axes) != list(range(len(layout))):
            return None
        return transposed_layout(layout, axes if is_forward else [axes.index(k) for k in range(len(axes))])


class Pixels(NamedTuple):
    """A shape as numbers of rows, columns and channels, and the number of images in the batch."""

    rows: int
    columns: int
    channels: int
    batch: int = 1


class UnknownAccess(Exception):  # noqa: N818  # The exception is not an error: the operation becomes a barrier.
    """Raised if an operation's access maps cannot be derived; the message is the reason, without its subject."""


def pixels_of(shape: tuple[int, ...], layout: str | None) -> Pixels | None:
    """Return a shape's rows, columns, channels and batch according to its layout; None if the layout does not fit."""
    if layout is None or len(layout) != len(shape):
        return None
    sizes = [prod(size for size, letter in zip(shape, layout, strict=True) if letter == axis) for axis in "HWCN"]
    return Pixels(*sizes)


def pixel_axis(axis: int, layout: str) -> int:
    """Return the pixel axis of a layout's axis: 0 for rows, 1 for columns, 2 for channels, -1 for the batch."""
    rank = len(layout)
    if not -rank <= axis < rank:
        raise UnknownAccess(f"axis must be from {-rank} to {rank - 1}, got {axis}")
    return "HWC".find(layout[axis])


@dataclass(frozen=True)
class Facts:
    """The facts that determine an operation's access maps; `shapes` has the shapes of its inputs, without constants.

    `layout` and `in_layout` are the layouts of the output and of the first input, with a letter for each axis.
    """

    kind: str
    attributes: Mapping[str, object]
    inputs: tuple[Pixels, ...]
    shapes: tuple[tuple[int, ...], ...]
    output: Pixels
    out_shape: tuple[int, ...]
    layout: str
    in_layout: str

    def integers(self, name: str, count: int, default: int | None = None) -> tuple[int, ...]:
        """Return an attribute as `count` integers; repeats a single integer. Raises UnknownAccess otherwise."""
        value = self.attributes.get(name)
        if value is None and default is not None:
            return (default,) * count
        numbers = (value,) * count if isinstance(value, int) else value
        if not isinstance(numbers, tuple) or len(numbers) != count or not all(isinstance(one, int) for one in numbers):
            raise UnknownAccess(f"{name} must be {count} integers")
        return tuple(int(one) for one in numbers)

    def integer(self, name: str, default: int | None = None) -> int:
        """Return an attribute that is one integer; raises UnknownAccess for any other attribute."""
        return self.integers(name, 1, default)[0]

    def list_of(self, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """Return an attribute that is a list of integers, of any length; raises UnknownAccess for other types."""
        value = self.attributes.get(name, default)
        if not isinstance(value, tuple) or not all(isinstance(one, int) for one in value):
            raise UnknownAccess(f"{name} must be integers")
        return tuple(int(one) for one in value)

    def axis_numbers(self, values: Mapping[int, int], default: int) -> tuple[int, int]:
        """Return (rows' value, columns' value) from values by axis; raises UnknownAccess if the batch axis has one."""
        pairs = [(pixel_axis(axis, self.layout), value) for axis, value in values.items()]
        if any(which == -1 and value != default for which, value in pairs):
            raise UnknownAccess(f"{self.kind} of batches cannot be split, so it runs as a whole")
        by_axis = dict(pairs)
        return by_axis.get(0, default), by_axis.get(1, default)

    def word(self, name: str, default: str) -> str:
        """Return an attribute as text, or `default` if the operation has no such attribute."""
        return str(self.attributes.get(name, default))

    def axis(self, name: str, default: int) -> int:
        """Return the pixel axis in an attribute: 0 for rows, 1 for columns, 2 for channels, -1 for the batch."""
        return pixel_axis(self.integer(name, default), self.layout)
