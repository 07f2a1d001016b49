"""The values of nested ONNX graphs: which buffer a name in a graph refers to, and how many bytes it has."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from memplan.planner.errors import FormatError, excerpt
from memplan.planner.foreign.imported import element_count, packed_bytes
from memplan.planner.model.finding import MAX_LISTED, Finding
from memplan.programs.readers.draft import Kind, OperationsDraft
from memplan.programs.symbols.numbers import SymbolicNumbers
from memplan.runtimes.onnx.facts import initializer_facts, tensor_facts
from memplan.runtimes.onnx.model import BITS, graphs_of, shape_of

if TYPE_CHECKING:
    from onnx import GraphProto


class GraphNames:
    """The scope of a graph: the ids and types of all values to which names in this graph can refer."""

    def __init__(self, graph: GraphProto, outer: GraphNames | None, prefix: str) -> None:
        """Open the scope of `graph` inside the scope `outer`; ids of this graph start with `prefix`."""
        self.prefix, self.outer = prefix, outer
        self.constant_shapes = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
        self.types = {value.name: value.type for value in (*graph.output, *graph.value_info, *graph.input)}
        self.writers: dict[str, str] = {}
        self.ids: ChainMap[str, str] = ChainMap() if outer is None else outer.ids.new_child()

    def shape(self, name: str) -> tuple[int, ...] | None:
        """Return the sizes of the value called `name` in this graph or an enclosing graph; None if one is unknown."""
        scope: GraphNames | None = self
        while scope is not None:
            if name in scope.types:
                shape = shape_of(scope.types[name]) or ()
                sizes = tuple(size for size in shape if isinstance(size, int))
                return sizes if shape and len(sizes) == len(shape) else None
            if name in scope.constant_shapes:
                return scope.constant_shapes[name]
            scope = scope.outer
        return None

    def bind(self, name: str, found: str, what: str) -> None:
        """Let `name` refer to the value with id `found`. Raises FormatError if this graph has bound the name."""
        if name in self.ids.maps[0]:
            raise FormatError(
                f"{what}: must write each value only once, got {excerpt(name)}, which {self.writers[name]} writes, too"
            )
        self.ids[name], self.writers[name] = found, what

    def id_of(self, name: str, what: str) -> str:
        """Return the id of the value that `name` refers to. Raises FormatError if nothing has written it yet."""
        if name not in self.ids:
            raise FormatError(f"{what}: must read only values that are already written, got {excerpt(name)}")
        return self.ids[name]


class Values:
    """All values of a model: the buffers in `draft`, and in `constants` the bytes of constants (None: unknown)."""

    def __init__(self, graph: GraphProto, draft: OperationsDraft) -> None:
        """Start without values; collect all names that nodes use as outputs, and all names that are read."""
        self.draft = draft
        self.constants: dict[str, int | None] = {}
        self.causes: Mapping[str, str] = {}
        self.numbers: SymbolicNumbers | None = None
        self.warnings: list[Finding] = []
        self._taken = {name for node in graph.node for name in node.output}
        self._taken |= {value.name for value in (*graph.input, *graph.initializer)}
        self._read = {name for inner in graphs_of(graph) for node in inner.node for name in node.input}
        self._read |= {value.name for inner in graphs_of(graph) for value in inner.output}

    def declare(
        self, scope: GraphNames, name: str, what: str, kind: Kind = "plain", *, size: int | None = None
    ) -> bool:
        """Declare the value called `name` as a buffer and return True; `what` describes its writer in errors.

        Return False, with a warning, for a value of unknown size that nothing reads: the problem omits it.
        """
        size = self.size_if_known(scope, name) if size is None else size
        if size is None and name not in self._read:
            if len(self.warnings) < MAX_LISTED:
                message = f"{what}: {excerpt(name)} has no known size and no reader, so it is left out"
                self.warnings.append(Finding("unsized-output", message))
            return False
        own = name if scope.prefix == "" else self.free_id(scope.prefix + name)
        scope.bind(name, own, what)
        self.draft.declare(own, self.size(scope, name, what) if size is None else size, kind)
        self.draft.describe(own, tensor_facts(name, scope.types.get(name)))
        return True

    def add_constant(self, scope: GraphNames, name: str, size: int | None) -> None:
        """Bind a name to a constant of `size` bytes (None: unknown). Its buffer is declared when it is first read."""
        # A constant that is an output of the program is copied at its end, and the copy gets the output's name.
        is_free = scope.prefix == "" and name not in self.draft.results
        own = name if is_free else self.free_id(f"#constant {scope.prefix}{name}")
        scope.bind(name, own, "the constants")
        self.constants[own] = size

    def add_initializers(self, graph: GraphProto, scope: GraphNames) -> None:
        """Add the initializers of a graph, dense and sparse, as constants."""
        for tensor in graph.initializer:
            size = self.bytes_of(f"initializer {excerpt(tensor.name)}", tensor.dims, tensor.data_type)
            self.add_constant(scope, tensor.name, size)
            facts = initializer_facts(tensor.name, tensor.dims, tensor.data_type)
            self.draft.describe(scope.ids[tensor.name], facts)
        for sparse in graph.sparse_initializer:
            name, kind = sparse.values.name, sparse.values.data_type
            self.add_constant(scope, name, self.bytes_of(f"initializer {excerpt(name)}", sparse.dims, kind))

    def operands(self, ids: Iterable[str]) -> list[str]:
        """Return those ids that have buffers. Constants of known size among the ids get their buffers here."""
        operands = list(ids)
        for name in operands:
            size = self.constants.get(name)
            if size is not None and not self.draft.is_declared(name):
                self.draft.declare(name, size, "constant")
        return [name for name in operands if self.draft.is_declared(name)]

    def free_id(self, wanted: str) -> str:
        """Return an unused id and mark it as used: `wanted`, followed by apostrophes if `wanted` is in use."""
        while wanted in self._taken:
            wanted += "'"
        self._taken.add(wanted)
        return wanted

    def size_of(self, found: str) -> int | None:
        """Return the bytes of the value with the id `found`; None if they are unknown."""
        return self.constants[found] if found in self.constants else self.draft.size(found)

    def size_if_known(self, scope: GraphNames, name: str) -> int | None:
        """Return the bytes of the value called `name` in this graph; None if its type or a size is unknown."""
        kind = scope.types.get(name)
        shape = None if kind is None else shape_of(kind)
        if kind is None or shape is None:
            return None
        all_sizes = [
            self.numbers.number_of_text(size) if self.numbers and isinstance(size, str) else size for size in shape
        ]
        sizes = [size for size in all_sizes if isinstance(size, int)]
        if len(sizes) < len(all_sizes):
            return None
        return self.bytes_of(f"value {excerpt(name)}", sizes, kind.tensor_type.elem_type)

    def size(self, scope: GraphNames, name: str, what: str) -> int:
        """Return the bytes of the value called `name` in this graph; raises FormatError if they are unknown."""
        size = self.size_if_known(scope, name)
        if size is not None:
            return size
        kind = scope.types.get(name)
        value = f"value {excerpt(name)} of {what}"
        if kind is not None and kind.WhichOneof("value") not in ("tensor_type", None):
            got = kind.WhichOneof("value").removesuffix("_type")
            way = "convert with zipmap=False" if "ZipMap" in what else "plan the part of the model before this value"
            raise FormatError(f"{value}: must be a dense tensor, got a {got}, whose size depends on the run: {way}")
        if cause := self.causes.get(name) or next(iter(self.causes.values()), None):
            raise FormatError(f"{value}: must have a shape that is known before the program runs, got none: {cause}")
        raise FormatError(f"{value}: must have a shape that is known or can be inferred, got none")

    def bytes_of(self, what: str, dims: Sequence[int], kind: int) -> int:
        """Return the bytes of a tensor with the sizes `dims` and the element type number `kind`.

        Raises FormatError for an element type without a fixed size, and for a negative size.
        """
        bits = BITS.get(kind)
        if bits is None:
            got = "strings: plan the part of the model before these strings" if kind == 8 else f"type {kind}"
            raise FormatError(f"{what}: must have elements of a fixed size, got {got}")
        for k, size in enumerate(dims):
            rule = "must be at least 0, which requires larger inputs"
            try:
                is_wrong = size < 0
            # An error here means that the sign of the size depends on symbols, so the size may be negative.
            except FormatError:
                is_wrong = True
            if is_wrong:
                raise FormatError(f"{what}: dimension {k} {rule}, got {size}")
        return packed_bytes(what, element_count(dims), bits, self.draft.alignment)
