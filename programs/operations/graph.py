"""A graph of operations whose order may change: tensors with sizes in bytes, and operations that read and write them.

The JSON form is `{"size": [...], "kept": [...], "ops": [{"in": [...], "out": [...], "work": 0, "after": [...]}, ...]}`;
docs/order.md describes its other fields. Operations and tensors are denoted by their positions in these lists. The
operations are listed in the given order, which must be valid.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WrapValidator, model_validator
from pydantic_core import to_json

from memplan.planner.errors import (
    MAX_SHOWN,
    Break,
    InputError,
    OperationsError,
    Sentence,
    add_way,
    duplicate_rule,
    raise_rules,
)
from memplan.planner.errors.did_you_mean import register_fields
from memplan.planner.formats.memplan_json import parse
from memplan.planner.model.columns import repeated_positions
from memplan.planner.model.parts import validate_in_parts
from memplan.planner.model.rows import MAX_BYTES, Bytes, Name, Value, tuple_from_list
from memplan.programs.operations.graph_facts import Attributes, Shape, TensorFacts

FORMAT: Literal["operations-by-bytes/1"] = "operations-by-bytes/1"
RegionKind = Literal["branch", "loop", "call"]
Position = Annotated[int, Field(ge=0)]
Work = Annotated[int, Field(ge=-MAX_BYTES, le=MAX_BYTES)]
Positions = Annotated[tuple[Position, ...], WrapValidator(validate_in_parts)]
Pair = Annotated[tuple[Position, Position], BeforeValidator(tuple_from_list)]
Pairs = Annotated[tuple[Pair, ...], WrapValidator(validate_in_parts)]
Shapes = Annotated[tuple[Shape | None, ...], WrapValidator(validate_in_parts)]


class Region(Value):
    """A graph that runs inside an operation.

    Tensors that are resident inside are counted outside, for the whole operation. The others are created by the
    operation, or read by it alone, and are counted by the region. The operation's `work` is the region's peak minus
    their bytes, which is below 0 if they are not all alive at once.
    """

    error: ClassVar[type[InputError]] = OperationsError

    kind: RegionKind
    """`branch`: one of several branches; `loop`: the body of a loop; `call`: a called function."""
    graph: "OperationGraph"
    """The tensors and operations of the region."""
    outer: Pairs = ()
    """Pairs [inside, outside] of a tensor of the region and the same tensor outside."""


class Alternative(Value):
    """Another way to compute an operation."""

    error: ClassVar[type[InputError]] = OperationsError

    name: Name | None = None
    """The name of the alternative."""
    work: Bytes = 0
    """The bytes that it needs besides its tensors while it runs."""
    cost: Bytes | None = None
    """The cost of running it once, in the unit of the operation's cost, which is the default; in cascades and
    schedules, its multiplications."""


class GraphOperation(Value):
    """An operation: it reads tensors, writes tensors, and needs further bytes while it runs."""

    model_config = ConfigDict(populate_by_name=True)
    error: ClassVar[type[InputError]] = OperationsError

    inputs: Positions = Field(default=(), alias="in")
    """The tensors that it reads, as positions in `size`."""
    outputs: Positions = Field(default=(), alias="out")
    """The tensors that it writes, as positions in `size`."""
    work: Work = 0
    """The bytes that it needs besides its tensors while it runs; below 0 only for an operation with regions."""
    after: Positions = ()
    """Operations that must run earlier although no tensor connects them, as positions in `ops`."""
    may_overwrite: Pairs = ()
    """Pairs [k, j]: output k may be written over input j if no other operation needs that input any more."""
    regions: Annotated[tuple[Region, ...], WrapValidator(validate_in_parts)] = ()
    """Graphs that run inside the operation, each in a fixed order; `work` suffices for each of them."""
    name: Name | None = None
    """The name of the operation in its file."""
    kind: Name | None = None
    """The canonical name of the computation, such as `conv2d`."""
    attributes: Attributes = Field(default_factory=dict)
    """The parameters of the computation, such as {"strides": [2, 2]}."""
    in_shapes: Shapes = ()
    """The shapes in which it interprets its inputs, where these differ from the tensors' own shapes."""
    out_shapes: Shapes = ()
    """The shapes in which it interprets its outputs, where these differ from the tensors' own shapes."""
    source: Positions = ()
    """The place of the operation in the model's file, as positions in nested lists."""
    cost: Bytes | None = None
    """The cost of running it once, in any unit; by default its multiplications, or else the elements that it writes."""
    once: bool = False
    """True if it must not run again, for example because it draws random numbers."""
    alternatives: Annotated[tuple[Alternative, ...], Field(max_length=15), BeforeValidator(tuple_from_list)] = ()
    """Other ways to compute it."""

    @property
    def max_work(self) -> int:
        """The maximum workspace in bytes, over the operation itself and its alternatives."""
        return max((self.work, *(other.work for other in self.alternatives)))


register_fields("ops", GraphOperation)
register_fields("alternatives", Alternative)


class OperationGraph(Value):
    """Tensors by their sizes in bytes, and operations in the given order.

    A tensor that no operation creates, or that `given` lists, is alive from the start until its last reader has run. A
    given tensor that is neither read nor kept takes no bytes at any time. An operation that writes an existing tensor
    changes it in place: its bytes count once, from the first operation that writes it.
    """

    error: ClassVar[type[InputError]] = OperationsError

    format: Literal["operations-by-bytes/1"] = FORMAT
    """The name of this format."""
    name: Name | None = None
    """The name of the program."""
    size: Annotated[tuple[Bytes, ...], WrapValidator(validate_in_parts)] = ()
    """The size of each tensor in bytes; other fields have the positions of tensors in this list."""
    kept: Positions = ()
    """The tensors that are alive to the end."""
    given: Positions = ()
    """The tensors that exist from the start although operations write them."""
    resident: Positions = ()
    """The tensors in another memory, such as weights; they exist from the start, and no order counts them."""
    tensors: Annotated[tuple[TensorFacts, ...], WrapValidator(validate_in_parts)] = ()
    """Facts about each tensor, or an empty list."""
    ops: Annotated[tuple[GraphOperation, ...], WrapValidator(validate_in_parts)] = ()
    """The operations in the given order, which must be valid."""

    @model_validator(mode="after")
    def _require_valid_graph(self) -> "OperationGraph":
        """Return the graph; raise a validation error that lists the first broken rules."""
        breaks = [*self._tensor_violations(), *self._operation_violations()]
        if breaks:
            raise_rules(*breaks[: MAX_SHOWN + 1])
        needed = sum(self.size) + max((row.max_work for row in self.ops), default=0)
        if needed > MAX_BYTES:
            raise_rules(
                (("size",), f"must be at most {MAX_BYTES} bytes in total, including the largest work, got {needed}")
            )
        return self

    @cached_property
    def working_bytes(self) -> tuple[int, ...]:
        """For each tensor, the bytes that count while it is alive: its size, or 0 if it is resident."""
        if not self.resident:
            return self.size
        apart = set(self.resident)
        return tuple(0 if tensor in apart else bytes_ for tensor, bytes_ in enumerate(self.size))

    @cached_property
    def initial_tensors(self) -> frozenset[int]:
        """The given and resident tensors, which exist from the start even if operations write them later."""
        return frozenset((*self.given, *self.resident))

    @cached_property
    def permanent_tensors(self) -> frozenset[int]:
        """The tensors that are never freed: kept tensors and resident tensors."""
        return frozenset((*self.kept, *self.resident))

    @cached_property
    def maker(self) -> tuple[int | None, ...]:
        """For each tensor, the first operation that writes it, or None for a given or resident tensor."""
        made: list[int | None] = [None] * len(self.size)
        for position, row in enumerate(self.ops):
            for tensor in row.outputs:
                if made[tensor] is None and tensor not in self.initial_tensors:
                    made[tensor] = position
        return tuple(made)

    @cached_property
    def new_tensors(self) -> tuple[tuple[int, ...], ...]:
        """For each operation, the tensors that no earlier operation writes, whose bytes it therefore adds."""
        maker = self.maker
        return tuple(
            tuple(tensor for tensor in row.outputs if maker[tensor] == position)
            for position, row in enumerate(self.ops)
        )

    @cached_property
    def readers(self) -> tuple[tuple[int, ...], ...]:
        """For each tensor, the operations that read it or write it again, in ascending order."""
        readers: list[list[int]] = [[] for _ in self.size]
        for position, row in enumerate(self.ops):
            for tensor in {*row.inputs, *row.outputs}.difference(self.new_tensors[position]):
                readers[tensor].append(position)
        return tuple(map(tuple, readers))

    @cached_property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        """For each operation, its predecessors in ascending order; predecessors of predecessors may be omitted.

        An operation that writes a tensor again follows all readers of the tensor that precede it in the given order.
        """
        writer: list[int | None] = [None] * len(self.size)
        since: list[list[int]] = [[] for _ in self.size]
        predecessors: list[tuple[int, ...]] = []
        for position, row in enumerate(self.ops):
            earlier: set[int | None] = set(row.after)
            earlier.update(writer[tensor] for tensor in row.inputs)
            for tensor in row.inputs:
                since[tensor].append(position)
            for tensor in row.outputs:
                earlier.update((writer[tensor], *since[tensor]))
                writer[tensor], since[tensor] = position, []
            predecessors.append(tuple(sorted(one for one in earlier if one is not None and one != position)))
        return tuple(predecessors)

    def _tensor_violations(self) -> Iterator[Break]:
        """Yield the broken rules of the lists `kept`, `given`, `resident` and `tensors`, each with its location."""
        for field in ("kept", "given", "resident"):
            named: tuple[int, ...] = getattr(self, field)
            for k, tensor in enumerate(named):
                if tensor >= len(self.size):
                    yield (field, k), _unknown_tensor_rule(tensor, len(self.size))
            for first, k in repeated_positions(named):
                yield (field, k), duplicate_rule(str(named[k]), f"{field}[{first}]")
        if self.tensors and len(self.tensors) != len(self.size):
            yield (
                ("tensors",),
                f"must be empty, or have one entry for each of the {len(self.size)} sizes, got {len(self.tensors)}",
            )

    def _operation_violations(self) -> Iterator[Break]:
        """Yield each broken rule of the operations, with the location of the wrong field."""
        made: dict[int, int] = {}
        for position, row in enumerate(self.ops):
            for tensor in row.outputs:
                if tensor not in self.initial_tensors:
                    made.setdefault(tensor, position)
        for position, row in enumerate(self.ops):
            where = ("ops", position)
            if row.may_overwrite or row.regions or row.in_shapes or row.out_shapes:
                yield from ((("ops", position, *inside), rule) for inside, rule in _rare_field_violations(row))
            for field, tensors in (("in", row.inputs), ("out", row.outputs)):
                for k, tensor in enumerate(tensors):
                    if tensor >= len(self.size):
                        yield (*where, field, k), _unknown_tensor_rule(tensor, len(self.size))
            if row.work < 0:
                # An operation must not free bytes when it starts, so negative work is limited to its new outputs.
                made_here = {
                    tensor for tensor in row.outputs if made.get(tensor) == position and tensor < len(self.size)
                }
                least = -sum(self.size[tensor] for tensor in made_here) if row.regions else 0
                if row.work < least:
                    what = f"at least {least} (minus the bytes of its new outputs)," if row.regions else "at least 0"
                    yield (*where, "work"), f"must be {what}, got {row.work}"
            for first, k in repeated_positions(row.outputs):
                yield (*where, "out", k), duplicate_rule(str(row.outputs[k]), f"out[{first}]")
            for k, tensor in enumerate(row.inputs):
                if made.get(tensor, -1) >= position:
                    rule = f"must be made before it is read, got {tensor}, made by ops[{made[tensor]}]"
                    way = "list the operation that makes it first, or name the tensor in given"
                    yield (*where, "in", k), add_way(rule, way)
            for k, earlier in enumerate(row.after):
                if earlier >= position:
                    yield (*where, "after", k), f"must name an earlier operation, got {earlier}"


def _unknown_tensor_rule(tensor: int, n_tensors: int) -> Sentence:
    rule = f"must be the position of one of the {n_tensors} tensors, got {tensor}"
    return add_way(rule, "positions count from 0")


def _rare_field_violations(row: GraphOperation) -> Iterator[Break]:
    """Yield the broken rules of the rare fields of an operation: overwriting, regions, shapes and alternatives."""
    for k, pair in enumerate(row.may_overwrite):
        for one, name, tensors in zip(pair, ("out", "in"), (row.outputs, row.inputs), strict=True):
            if one >= len(tensors):
                yield ("may_overwrite", k), f"must name one of the {len(tensors)} tensors of {name}, got {one}"
    for field, name, tensors in (("in_shapes", "in", row.inputs), ("out_shapes", "out", row.outputs)):
        shapes: tuple[object, ...] = getattr(row, field)
        if shapes and len(shapes) != len(tensors):
            yield (
                (field,),
                f"must be empty, or have one entry for each of the {len(tensors)} tensors of {name}, got {len(shapes)}",
            )
    if row.alternatives and row.regions:
        yield ("alternatives",), f"must be empty for an operation with regions, got {len(row.alternatives)}"
    around = {*row.inputs, *row.outputs}
    for k, region in enumerate(row.regions):
        for j, (inside, outside) in enumerate(region.outer):
            where = ("regions", k, "outer", j)
            if inside >= len(region.graph.size):
                yield where, f"must begin with one of the {len(region.graph.size)} tensors of the region, got {inside}"
            if outside not in around:
                yield where, f"must end with a tensor that the operation reads or makes, got {outside}"


Region.model_rebuild()


def graph_from(value: object) -> OperationGraph:
    """Return the graph in a parsed JSON value; raises OperationsError if it is invalid."""
    return OperationGraph.model_validate(value)


def read_graph(data: bytes) -> OperationGraph:
    """Return the graph in the bytes of a JSON file; raises FormatError or OperationsError for other contents."""
    return graph_from(parse(data))


def write_graph(graph: OperationGraph) -> bytes:
    """Return a graph as bytes of JSON; the format's name is added, and fields with default values are omitted."""
    fields = graph.model_dump(by_alias=True, exclude_defaults=True)
    return to_json({"format": FORMAT, **fields}) + b"\n"
