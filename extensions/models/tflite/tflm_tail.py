"""The tail of TFLite Micro's arena, with everything that persists, and the least arena for starting.

The tail grows down from the arena's end, one allocation after the other: the allocator itself, a row for each tensor
and operator, options, data that kernels keep, variables, inputs and outputs. Above the head are, for a while, the
requests of kernels that prepare, and then the planner's rows. The arena must be as large as the two ends ever are
together: the runtime checks that there is room for temporary data, yet lets the tail grow into it. Source: as in
`tflm_arena`; and micro_allocator.cc, micro_interpreter.cc, micro_interpreter_graph.cc, micro_allocation_info.cc,
arena_allocator/single_arena_buffer_allocator.cc, micro_resource_variable.cc.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from memplan.extensions.models.tflite.model import Model, Operator, Subgraph, TfliteTensor, read_model
from memplan.extensions.models.tflite.tflm_arena import (
    ALIGNMENT,
    arena_head,
    model_for_options,
    round_up,
    scratch_of,
    scratch_of_model,
)
from memplan.extensions.models.tflite.tflm_kernels import (
    construction_bytes,
    is_known,
    options_of,
    preparation_sizes,
    scales_of,
    temporaries,
    tensor_bytes,
)
from memplan.extensions.models.tflite.tflm_targets import Target
from memplan.planner import __version__
from memplan.planner.foreign.arena import ModelArena
from memplan.planner.foreign.c.arena import IN_SECTION, section_name
from memplan.planner.foreign.c_names import add_include_guard, constant, include_of, prefix_of
from memplan.planner.foreign.model_options import ModelOptions

_MOST_REQUESTS = 12
"""The scratch buffers that a kernel may ask for, for which rows are kept while it prepares."""


def arena_of(data: bytes, options: ModelOptions | None = None) -> ModelArena:
    """Return the arena of a model's file for some options; raises OptionError for unknown values of these."""
    return replace(whole_arena(model_for_options(read_model(data), options)), flash=len(data))


def host_options(options: ModelOptions | None) -> ModelOptions | None:
    """Return the options for the runtime in Python, which has the reference kernels."""
    return None if options is None else options.model_copy(update={"target": None, "kernels": None})


def whole_arena(model: Model) -> ModelArena:
    """Return the arena of a model with its own plan."""
    head = arena_head(model, model.offline_offsets)
    space = space_of(model, head.size)
    operators = [(i, k, each) for i, graph in enumerate(model.subgraphs) for k, each in enumerate(graph.operators)]
    said = {each.path: each.name for i, k, each in operators if model.scratch_said(i, k) is not None}
    strange = {
        each.name
        for _, _, each in operators
        if each.is_custom and each.path not in said and not is_known(each, model.target)
    }
    unknown = tuple(dict.fromkeys((*head.unknown, *sorted(strange))))
    return ModelArena(
        head.size,
        space.tail,
        round_up(space.least),
        unknown,
        space.temporary,
        model.target.text,
        tuple(dict.fromkeys(said.values())),
    )


def space_of(model: Model, head: int) -> Space:
    """Return what a model takes of an arena from its two ends, of which `head` is for tensors and scratch."""
    space = Space(model.target)
    _count_preparation(model, space)
    _planning(model, space, head)
    _count_inputs_and_outputs(model, space)
    return space


@dataclass
class Space:
    """The bytes in use at an arena's two ends: the head with temporary data above it, and the tail.

    `least` is the smallest arena in which they have never met, `unguarded` the smallest that the runtime lets pass, and
    `temporary` the most bytes in the head's place before tensors were there.
    """

    target: Target
    head: int = 0
    top: int = 0
    tail: int = 0
    least: int = 0
    unguarded: int = 0
    temporary: int = 0

    def keep(self, size: int, alignment: int = ALIGNMENT) -> None:
        """Take bytes from the tail for good."""
        if size:  # kernels that keep nothing allocate nothing, and align nothing
            self.tail = -(-(self.tail + size) // alignment) * alignment
            self.least = max(self.least, self.top + self.tail)
            self.unguarded = max(self.unguarded, self.head + self.tail)

    def keep_rows(self, name: str, count: int = 1, alignment: int | None = None) -> None:
        """Take some of the runtime's structures from the tail."""
        size = self.target.runtime(name)
        self.keep(count * size.size, alignment or size.alignment)

    def take(self, name: str, count: int = 1, more: int = 0) -> None:
        """Take some of the runtime's structures, and bytes after them, from above the head."""
        size = self.target.runtime(name)
        self.top = -(-self.top // size.alignment) * size.alignment + count * size.size + more
        self._meet()

    def set_head(self, size: int) -> None:
        """Give back what lies above the head, and change the head."""
        self.head = self.top = size
        self._meet()

    def _meet(self) -> None:
        self.temporary = max(self.temporary, self.top)
        self.least = max(self.least, self.top + self.tail)
        self.unguarded = max(self.unguarded, self.top + self.tail)


def _count_preparation(model: Model, space: Space) -> None:
    """Count the allocations before tensors are placed, in the runtime's order."""
    graphs, variables, target = model.subgraphs, _variables(model), space.target
    kind = "Recording" if target.is_host else ""
    for name in (f"{kind}Arena", "GreedyPlanner", f"{kind}Allocator"):
        space.keep_rows(name)
    if variables:
        space.keep_rows("Variables", alignment=ALIGNMENT)
        space.keep_rows("Variable", len(variables), ALIGNMENT)
    space.keep_rows("Builtin")
    request = target.runtime("Request").size
    space.set_head(request * _MOST_REQUESTS)
    space.keep_rows("Subgraph", len(graphs))
    for graph in graphs:
        space.keep_rows("EvalTensor", len(graph.tensors))
    for graph in graphs:
        space.keep_rows("Node", len(graph.operators))
    operators = [(i, k, operator) for i, graph in enumerate(graphs) for k, operator in enumerate(graph.operators)]
    for _, _, operator in operators:
        space.keep(*options_of(operator, target))
    for _, _, operator in operators:
        space.keep(construction_bytes(operator, target))
    n_requests, assigned = 0, set[str]()
    for i, k, operator in operators:
        for tensor in temporaries(graphs[i], operator):
            space.take("Tensor")
            if scales := scales_of(tensor):
                space.take("Quantization")
                space.take("IntArray", more=4 * scales)
        for size in preparation_sizes(graphs[i], operator, target):
            space.keep(size)
        variable = _variable_of(graphs[i], operator)
        if variable is not None and variable not in assigned:
            assigned.add(variable)
            space.keep(variables[variable])
        n_requests += len(scratch_of(model, i, k) or ())
        space.set_head(request * (n_requests + _MOST_REQUESTS))
    space.keep_rows("Handle", n_requests)


def _planning(model: Model, space: Space, head: int) -> None:
    """Count what the runtime takes to place tensors and scratch, and the head that it makes of them."""
    places = model.offline_offsets or (-1,) * len(model.tensors)
    n_scratch = len(scratch_of_model(model)[0])
    handles = {t.id for graph in model.subgraphs for t in _handles(graph)}
    planned = [
        tensor
        for tensor, place in zip(model.tensors, places, strict=True)
        if not tensor.is_constant and tensor_bytes(tensor) and tensor.id not in handles
        if not tensor.is_variable or place >= 0
    ]
    space.take("Size", len(model.subgraphs))
    space.take("Info", len(model.tensors) + n_scratch)
    for tensor, place in zip(model.tensors, places, strict=True):
        if tensor.is_variable and place < 0:
            space.keep(tensor_bytes(tensor))
    rows = space.target.runtime("Planned").size * (len(planned) + n_scratch)
    # The space between the ends for the planner's rows is rounded at both ends.
    between = round_up(space.top) + rows + round_up(space.tail)
    space.least, space.unguarded = max(space.least, between), max(space.unguarded, between)
    space.temporary = max(space.temporary, round_up(space.top) + rows)
    space.set_head(head)


def _count_inputs_and_outputs(model: Model, space: Space) -> None:
    """Count the allocations for inputs and outputs, after tensors are placed."""
    main = model.subgraphs[0]
    for indices in (main.inputs, main.outputs):
        space.keep(space.target.pointer * len(indices))
        for index in indices:
            space.keep_rows("Tensor")
            if scales := scales_of(main.tensors[index]):
                space.keep_rows("Quantization")
                space.keep(4 + 4 * scales, 4)


def _handles(graph: Subgraph) -> Iterator[TfliteTensor]:
    """Yield the tensors that represent variables and have no separate bytes."""
    for operator in graph.operators:
        if operator.name == "VAR_HANDLE":
            yield from (graph.tensors[index] for index in operator.outputs)


def _variables(model: Model) -> dict[str, int]:
    """Return the size of each named variable that operators share: that of its first assigned value."""
    sizes: dict[str, int] = {}
    for graph in model.subgraphs:
        for operator in graph.operators:
            if operator.name == "VAR_HANDLE":
                sizes.setdefault(_shared_name(operator), 0)
    for graph in model.subgraphs:
        for operator in graph.operators:
            if (name := _variable_of(graph, operator)) is not None and not sizes[name]:
                sizes[name] = tensor_bytes(graph.tensors[operator.inputs[1]])
    return sizes


def _variable_of(graph: Subgraph, operator: Operator) -> str | None:
    """Return the name of the variable that an operator assigns; None for other operators, and unknown handles."""
    if operator.name != "ASSIGN_VARIABLE":
        return None
    makers = (each for each in graph.operators if each.name == "VAR_HANDLE" and operator.inputs[0] in each.outputs)
    return next(map(_shared_name, makers), None)


def _shared_name(operator: Operator) -> str:
    options = None if operator.table is None else operator.table.table(4, "builtin_options")
    return "" if options is None else options.text(1, "shared_name")


_PER_LINE = 16
_APART = 32
"""The most bytes that the allocator of two memories is larger than that of one."""


def write_c_model(data: bytes, arena: ModelArena, stem: str, section: str | None = None) -> Mapping[str, bytes]:
    """Return a C header and source: the model, aligned to 16 bytes, and its arena in a separate section."""
    prefix = prefix_of(stem)
    macro = prefix.upper()
    text = f"/* Written by memplan {__version__}: a model and its arena for TFLite Micro. */\n"
    header = (
        f"#define {macro}_SIZE {constant(len(data))}\n"
        f"/* To start: {arena}. */\n"
        f"#define {macro}_ARENA_SIZE {constant(arena.least)}\n"
        f"/* Of it, where the two lie in memories of their own. */\n"
        f"#define {macro}_HEAD_SIZE {constant(round_up(max(arena.head, arena.temporary)))}\n"
        f"#define {macro}_TAIL_SIZE {constant(round_up(arena.tail + _APART))}\n"
        f"extern const unsigned char {prefix}[{macro}_SIZE];\n"
        f"extern unsigned char {prefix}_arena[{macro}_ARENA_SIZE];\n"
    )
    rows = [data[k : k + _PER_LINE].hex(",", 1) for k in range(0, len(data), _PER_LINE)]
    array = "\n".join(f"    0x{row.replace(',', ',0x')}," for row in rows)
    return {
        ".h": f"{text}{add_include_guard(header, prefix)}".encode(),
        ".c": (
            f"{text}{include_of(stem)}\n#include <limits.h>\n\n{IN_SECTION}\n"
            f'MEMPLAN_IN_SECTION("{section_name(prefix, "arena", section)}")\n'
            f"_Alignas({ALIGNMENT}) unsigned char {prefix}_arena[{macro}_ARENA_SIZE];\n\n"
            f"_Alignas({ALIGNMENT}) const unsigned char {prefix}[{macro}_SIZE] = {{\n{array}\n}};\n"
        ).encode(),
    }
