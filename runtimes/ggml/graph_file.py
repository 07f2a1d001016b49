"""Parser of files of `graph_json.h`: one ggml graph, or the same graph at several sizes of one dimension."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd, lcm
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_core import from_json

from memplan.planner.errors import CUT_OFF, FormatError, excerpt, prefix_sentence, sentences
from memplan.planner.model.rows import MAX_BYTES, Alignment, Bytes, Name, WireValue, tuple_from_list
from memplan.programs.symbols.space import SymbolRange

_CONFIRMING = 1
"""The number of graphs that must confirm a polynomial that is determined by the other graphs."""
_Index = Annotated[int, Field(ge=0, lt=2**31)]


class Header(WireValue):
    """The first line of a graph. `dim` maps the name of its variable dimension to the size, or is empty."""

    format: str
    dim: Annotated[dict[Name, Annotated[int, Field(ge=1, le=MAX_BYTES)]], Field(max_length=1)] = Field(
        default_factory=dict
    )


class BackendBuffer(WireValue):
    """A memory buffer of a backend. ggml plans the tensors in `computed` buffers; others hold weights and caches."""

    buffer: _Index
    size: Bytes
    type: Name
    alignment: Alignment
    computed: bool


class GgmlTensor(WireValue):
    """A tensor of `bytes` bytes at an offset in a backend buffer; a view has an offset `at` in the tensor it views."""

    tensor: _Index
    name: str
    type: str
    shape: Annotated[tuple[Bytes, ...], BeforeValidator(tuple_from_list)]
    bytes: Bytes
    view_of: _Index | None = None
    at: Bytes = 0
    buffer: _Index | None = None
    offset: Bytes = 0
    input: bool = False
    output: bool = False


class GgmlNode(WireValue):
    """A node: the number of the tensor that it computes, and the numbers of its source tensors."""

    node: _Index
    op: Name
    reads: Annotated[tuple[_Index, ...], BeforeValidator(tuple_from_list)]


_KINDS: Mapping[str, type[WireValue]] = {
    "format": Header,
    "node": GgmlNode,
    "tensor": GgmlTensor,
    "buffer": BackendBuffer,
}
_Row = TypeVar("_Row", bound=WireValue)


@dataclass
class GgmlGraph:
    """One graph of a file: its buffers, tensors and nodes; `dim` maps its variable dimension, if any, to its size."""

    dim: Mapping[str, int]
    buffers: list[BackendBuffer] = field(default_factory=list)
    tensors: list[GgmlTensor] = field(default_factory=list)
    nodes: list[GgmlNode] = field(default_factory=list)

    def root_tensor(self, k: int) -> int:
        """Return the number of the tensor that owns tensor k's bytes: its view source, or k itself."""
        view_of = self.tensors[k].view_of
        return k if view_of is None else view_of


def read_graphs(data: bytes) -> list[GgmlGraph]:
    """Return a file's graphs, by ascending size of their dimension. Raises FormatError for malformed graphs."""
    graphs: list[GgmlGraph] = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        row = _parse_line(number, line)
        if isinstance(row, Header):
            graphs.append(GgmlGraph(row.dim))
        elif not graphs:
            raise FormatError(
                f"line {number}: must follow the header of a graph, got {excerpt(line.decode(errors='replace'))}"
            )
        else:
            _append_line(graphs[-1], row, number)
    if not graphs:
        raise FormatError("must contain a ggml graph, got none")
    for graph in graphs:
        _refuse_wrong_views(graph)
    names = {name for graph in graphs for name in graph.dim} if len(graphs) > 1 else set()
    sizes = {size for graph in graphs for size in graph.dim.values()}
    if len(graphs) > 1 and (len(names) != 1 or len(sizes) < len(graphs)):
        raise FormatError("graphs: must have different sizes of the same dimension, or be in separate files")
    graphs.sort(key=lambda graph: next(iter(graph.dim.values()), 0))
    for graph in graphs[1:]:
        _require_same_form(graphs[0], graph)
    used = {each for row in graphs[0].nodes for each in (row.node, *row.reads)}
    used |= {graphs[0].root_tensor(each) for each in used}
    if rest := [row.tensor for row in graphs[0].tensors if row.tensor not in used]:
        raise FormatError(f"tensor {rest[0]}: must be computed or read by a node: is the file cut off?")
    return graphs


def _parse_line(number: int, line: bytes) -> WireValue:
    """Return a line as a header, buffer, tensor or node. Raises FormatError with the number of the line."""
    try:
        value: Any = from_json(line)
        kind = next((kind for word, kind in _KINDS.items() if isinstance(value, dict) and word in value), None)
        if kind is None:
            raise FormatError(f"line {number}: must be an object with one of {', '.join(_KINDS)}, got {excerpt(value)}")
        return kind.model_validate(value)
    except ValidationError as error:
        raise FormatError(*(prefix_sentence(f"line {number}: ", sentence) for sentence in sentences(error))) from error
    except ValueError as error:
        # The JSON parser's error contains "EOF" if the text ends early, so report that the file was probably cut off.
        way = CUT_OFF if "EOF" in str(error) else None
        raise FormatError(f"line {number}: must be JSON: {error}", way=way) from error


def _append_line(graph: GgmlGraph, row: WireValue, number: int) -> None:
    """Add a parsed line to a graph. Raises FormatError for a line out of order or a reference to a later line."""

    def require_row(field_name: str, index: int | None, rows: Sequence[WireValue]) -> None:
        """Raise FormatError unless `index` is None or the number of an earlier row."""
        if index is not None and index >= len(rows):
            raise FormatError(
                f"line {number}: {field_name}: must be one of the {len(rows)} row numbers above, got {index}"
            )

    def append_row(rows: list[_Row], one: _Row, index: int) -> None:
        """Append a row. Raises FormatError unless `index` is the row's position in the list."""
        if index != len(rows):
            raise FormatError(f"line {number}: must have the number {len(rows)}, got {index}")
        rows.append(one)

    if isinstance(row, BackendBuffer):
        append_row(graph.buffers, row, row.buffer)
    elif isinstance(row, GgmlTensor):
        require_row("buffer", row.buffer, graph.buffers)
        append_row(graph.tensors, row, row.tensor)
    elif isinstance(row, GgmlNode):
        for name, index in (("node", row.node), *(("reads", each) for each in row.reads)):
            require_row(name, index, graph.tensors)
        graph.nodes.append(row)


def _refuse_wrong_views(graph: GgmlGraph) -> None:
    """Raise FormatError for a view of a tensor that is a view itself or does not exist."""
    for row in graph.tensors:
        if row.view_of is not None and not (
            row.view_of < len(graph.tensors) and graph.tensors[row.view_of].view_of is None
        ):
            raise FormatError(f"tensor {row.tensor}: view_of: must be a tensor that is not a view, got {row.view_of}")


def _require_same_form(first: GgmlGraph, other: GgmlGraph) -> None:
    """Raise FormatError if two graphs of a file differ in anything except the sizes of tensors and buffers."""

    def form(row: WireValue) -> object:
        if isinstance(row, GgmlTensor):
            return row.name, row.type, row.view_of, row.buffer, row.input, row.output
        return (row.type, row.alignment, row.computed) if isinstance(row, BackendBuffer) else row

    for field_name in ("buffers", "tensors", "nodes"):
        rows, others = getattr(first, field_name), getattr(other, field_name)
        pairs = enumerate(zip(rows, others, strict=False))
        k = next((k for k, (a, b) in pairs if form(a) != form(b)), None)
        if k is not None or len(rows) != len(others):
            place = f"{field_name}[{min(len(rows), len(others)) if k is None else k}]"
            raise FormatError(f"graphs: must differ only in sizes, got a difference in {place} at {other.dim}")


def symbol_of(graphs: Sequence[GgmlGraph]) -> dict[str, SymbolRange]:
    """Return the symbol for the dimension in which the graphs differ, with its range; empty for a single graph."""
    if len(graphs) == 1:
        return {}
    (name,) = graphs[0].dim
    sizes = [graph.dim[name] for graph in graphs]
    return {name: SymbolRange(min=sizes[0], multiple_of=gcd(*sizes))}


def tensor_bytes(graphs: Sequence[GgmlGraph], size: int | None) -> Iterator[int]:
    """Yield the bytes of each tensor when the variable dimension has the given size, which is a number or a symbol.

    The bytes follow from the polynomial of least degree through all graphs. Raises FormatError if they are negative, or
    if no additional graph confirms the polynomial.
    """
    if size is None:
        yield from (row.bytes for row in graphs[0].tensors)
        return
    (name,) = graphs[0].dim
    at = [graph.dim[name] for graph in graphs]
    fits: dict[tuple[int, ...], int] = {}
    for rows in zip(*(graph.tensors for graph in graphs), strict=True):
        values = tuple(row.bytes for row in rows)
        if values not in fits:
            fits[values] = _interpolated_value(f"tensor {excerpt(rows[0].name)}: bytes", name, at, values, size)
        yield fits[values]


def _interpolated_value(what: str, name: str, at: Sequence[int], values: Sequence[int], size: int) -> int:
    """Return the value at `size` of the polynomial through the points (at, values), by Newton's divided differences."""
    row, factors = [Fraction(value) for value in values], [Fraction(values[0])]
    for step in range(1, len(at)):
        row = [(row[k + 1] - row[k]) / (at[k + step] - at[k]) for k in range(len(row) - 1)]
        factors.append(row[0])
    while len(factors) > 1 and not factors[-1]:
        factors.pop()
    if len(factors) > len(at) - _CONFIRMING:
        rule = f"must be a polynomial of {name} that further graphs confirm, got only {len(at)} graphs"
        raise FormatError(f"{what}: {rule}; write the graph at more sizes, or at multiples of ggml's rounding")
    below = lcm(*(factor.denominator for factor in factors))
    total, product = 0, 1
    for k, factor in enumerate(factors):
        total = total + int(factor * below) * product
        product = product * (size - at[k])
    value = total // below
    if int(value) < 0:
        raise FormatError(f"{what}: must not be negative for {name} = {size}, got {int(value)}")
    return value
