"""The tail of TFLite Micro's arena with all persistent data, and the smallest arena in which a model starts.

The tail grows down from the arena's end by one allocation after the other: the allocator itself, a row for each tensor
and operator, options, data of kernels, variables, inputs and outputs. The space above the head is used temporarily,
first for requests that kernels make while they prepare, then for the planner's rows. The arena must be at least as
large as the largest sum of both ends. The runtime checks this for temporary data, but does not stop the tail from
growing into that data. Source: as in `tflm_arena`; and micro_allocator.cc, micro_interpreter.cc,
micro_interpreter_graph.cc, micro_allocation_info.cc, arena_allocator/single_arena_buffer_allocator.cc,
micro_resource_variable.cc.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from memplan.planner import __version__
from memplan.planner.foreign.arena import ModelArena
from memplan.planner.foreign.c.arena import IN_SECTION, section_name
from memplan.planner.foreign.c_names import add_include_guard, constant, include_of, prefix_of
from memplan.planner.foreign.model_options import ModelOptions
from memplan.runtimes.tflite.model import Model, Operator, Subgraph, TfliteTensor, read_model
from memplan.runtimes.tflite.tflm_arena import (
    ALIGNMENT,
    arena_head,
    model_for_options,
    round_up,
    scratch_of,
    scratch_of_model,
)
from memplan.runtimes.tflite.tflm_cmsis import scales_of
from memplan.runtimes.tflite.tflm_kernels import (
    allocates_last,
    construction_bytes,
    is_known,
    options_of,
    preparation_sizes,
    temporaries,
    tensor_bytes,
)
from memplan.runtimes.tflite.tflm_targets import Target

_MOST_REQUESTS = 12
"""The maximum number of scratch buffers of a kernel; that many rows are reserved while it prepares."""


def arena_of(data: bytes, options: ModelOptions | None = None) -> ModelArena:
    """Return the arena that the model in a file needs; raises OptionError for unknown processors and kernels."""
    return replace(whole_arena(model_for_options(read_model(data), options)), flash=len(data))


def host_options(options: ModelOptions | None) -> ModelOptions | None:
    """Return the options without target and kernels: the Python package's runtime has the reference kernels."""
    return None if options is None else options.model_copy(update={"target": None, "kernels": None})


def whole_arena(model: Model) -> ModelArena:
    """Return the arena that a model needs with the plan in its file."""
    head = arena_head(model, model.offline_offsets)
    space = arena_space(model, head.size)
    operators = [(i, k, each) for i, graph in enumerate(model.subgraphs) for k, each in enumerate(graph.operators)]
    said = {each.path: each.name for i, k, each in operators if model.stated_scratch(i, k) is not None}
    strange = {
        each.name
        for _, _, each in operators
        if each.is_custom and each.path not in said and not is_known(each, model.target)
    }
    unknown = tuple(dict.fromkeys((*head.unknown, *sorted(strange))))
    scratch = (sum(round_up(row.size) for row in scratch_of(model, i, k) or ()) for i, k, _ in operators)
    return ModelArena(
        head.size,
        space.tail,
        round_up(space.least),
        unknown,
        space.temporary,
        model.target.text,
        tuple(dict.fromkeys(said.values())),
        scratch=max(scratch, default=0),
        is_host=not model.target.is_named,
    )


def arena_space(model: Model, head: int) -> "Space":
    """Return the bytes that a model uses at both ends of the arena; `head` is the bytes of tensors and scratch."""
    space = Space(model.target)
    _count_preparation(model, space)
    _count_planning(model, space, head)
    _count_inputs_and_outputs(model, space)
    return space


@dataclass
class Space:
    """The bytes in use at both ends of an arena: the head, temporary data above it up to `top`, and the tail.

    `least` is the size of the smallest arena in which the ends never overlap, and `unguarded` that of the smallest
    arena that the runtime accepts. `temporary` is the peak of temporary bytes before tensors are placed.
    """

    target: Target
    head: int = 0
    top: int = 0
    tail: int = 0
    least: int = 0
    unguarded: int = 0
    temporary: int = 0

    def allocate_in_tail(self, size: int, alignment: int = ALIGNMENT) -> None:
        """Allocate `size` persistent bytes in the tail, aligned to `alignment`."""
        if size:  # A kernel without data makes no allocation, so the tail is not aligned either.
            self.tail = -(-(self.tail + size) // alignment) * alignment
            self.least = max(self.least, self.top + self.tail)
            self.unguarded = max(self.unguarded, self.head + self.tail)

    def allocate_structures_in_tail(self, name: str, count: int = 1, alignment: int | None = None) -> None:
        """Allocate `count` of the runtime's structures in the tail."""
        size = self.target.runtime(name)
        self.allocate_in_tail(count * size.size, alignment or size.alignment)

    def allocate_temporarily(self, name: str, count: int = 1, more: int = 0) -> None:
        """Allocate `count` of the runtime's structures above the head, followed by `more` bytes, until `set_head`."""
        size = self.target.runtime(name)
        self.top = -(-self.top // size.alignment) * size.alignment + count * size.size + more
        self._update_maxima()

    def set_head(self, size: int) -> None:
        """Free the temporary data above the head, and set the head's size."""
        self.head = self.top = size
        self._update_maxima()

    def _update_maxima(self) -> None:
        self.temporary = max(self.temporary, self.top)
        self.least = max(self.least, self.top + self.tail)
        self.unguarded = max(self.unguarded, self.top + self.tail)


def _count_preparation(model: Model, space: Space) -> None:
    """Add to `space` all allocations before tensors are placed, in the runtime's order."""
    graphs, variables, target = model.subgraphs, _variable_sizes(model), space.target
    kind = "Recording" if target.is_host else ""
    for name in (f"{kind}Arena", "GreedyPlanner", f"{kind}Allocator"):
        space.allocate_structures_in_tail(name)
    if variables:
        space.allocate_structures_in_tail("Variables", alignment=ALIGNMENT)
        space.allocate_structures_in_tail("Variable", len(variables), ALIGNMENT)
    space.allocate_structures_in_tail("Builtin")
    request = target.runtime("Request").size
    space.set_head(request * _MOST_REQUESTS)
    space.allocate_structures_in_tail("Subgraph", len(graphs))
    for graph in graphs:
        space.allocate_structures_in_tail("EvalTensor", len(graph.tensors))
    for graph in graphs:
        space.allocate_structures_in_tail("Node", len(graph.operators))
    operators = [(i, k, operator) for i, graph in enumerate(graphs) for k, operator in enumerate(graph.operators)]
    for _, _, operator in operators:
        space.allocate_in_tail(*options_of(operator, target))
    for _, _, operator in operators:
        space.allocate_in_tail(construction_bytes(operator, target))
    n_requests, assigned = 0, set[str]()
    for i, k, operator in operators:
        unread = 0
        for tensor in temporaries(graphs[i], operator, target):
            space.allocate_temporarily("Tensor")
            if scales := scales_of(tensor):
                space.allocate_temporarily("Quantization")
                space.allocate_temporarily("IntArray", more=4 * scales)
            unread = target.pointer + 4 + 4 * scales if scales else 0
        # No kernel reads the channel axis and the zero points of the last tensor, so its data may overlap them.
        space.top -= unread if allocates_last(operator, target) else 0
        for size in preparation_sizes(graphs[i], operator, target):
            space.allocate_in_tail(size)
        variable = _assigned_variable(graphs[i], operator)
        if variable is not None and variable not in assigned:
            assigned.add(variable)
            space.allocate_in_tail(variables[variable])
        n_requests += len(scratch_of(model, i, k) or ())
        space.set_head(request * (n_requests + _MOST_REQUESTS))
    space.allocate_structures_in_tail("Handle", n_requests)


def _count_planning(model: Model, space: Space, head: int) -> None:
    """Add to `space` the allocations of the runtime's planner, and set the head to `head`, the size of its plan."""
    places = model.offline_offsets or (-1,) * len(model.tensors)
    n_scratch = len(scratch_of_model(model)[0])
    handles = {t.id for graph in model.subgraphs for t in _handle_tensors(graph)}
    planned = [
        tensor
        for tensor, place in zip(model.tensors, places, strict=True)
        if not tensor.is_constant and tensor_bytes(tensor) and tensor.id not in handles
        if not tensor.is_variable or place >= 0
    ]
    space.allocate_temporarily("Size", len(model.subgraphs))
    space.allocate_temporarily("Info", len(model.tensors) + n_scratch)
    for tensor, place in zip(model.tensors, places, strict=True):
        if tensor.is_variable and place < 0:
            space.allocate_in_tail(tensor_bytes(tensor))
    rows = space.target.runtime("Planned").size * (len(planned) + n_scratch)
    # The planner's table lies between the head and the tail of the arena, so the arena must have room for all three.
    between = round_up(space.top) + rows + round_up(space.tail)
    space.least, space.unguarded = max(space.least, between), max(space.unguarded, between)
    space.temporary = max(space.temporary, round_up(space.top) + rows)
    space.set_head(head)


def _count_inputs_and_outputs(model: Model, space: Space) -> None:
    main = model.subgraphs[0]
    for indices in (main.inputs, main.outputs):
        space.allocate_in_tail(space.target.pointer * len(indices))
        for index in indices:
            space.allocate_structures_in_tail("Tensor")
            if scales := scales_of(main.tensors[index]):
                space.allocate_structures_in_tail("Quantization")
                space.allocate_in_tail(4 + 4 * scales, 4)


def _handle_tensors(graph: Subgraph) -> Iterator[TfliteTensor]:
    for operator in graph.operators:
        if operator.name == "VAR_HANDLE":
            yield from (graph.tensors[index] for index in operator.outputs)


def _variable_sizes(model: Model) -> dict[str, int]:
    """Return the bytes of each shared variable by name; the first assigned value determines them."""
    sizes: dict[str, int] = {}
    for graph in model.subgraphs:
        for operator in graph.operators:
            if operator.name == "VAR_HANDLE":
                sizes.setdefault(_variable_name(operator), 0)
    for graph in model.subgraphs:
        for operator in graph.operators:
            if (name := _assigned_variable(graph, operator)) is not None and not sizes[name]:
                sizes[name] = tensor_bytes(graph.tensors[operator.inputs[1]])
    return sizes


def _assigned_variable(graph: Subgraph, operator: Operator) -> str | None:
    """Return the name of the variable that an operator assigns; None if there is none or its handle is unknown."""
    if operator.name != "ASSIGN_VARIABLE":
        return None
    makers = (each for each in graph.operators if each.name == "VAR_HANDLE" and operator.inputs[0] in each.outputs)
    return next(map(_variable_name, makers), None)


def _variable_name(operator: Operator) -> str:
    options = None if operator.table is None else operator.table.table(4, "builtin_options")
    return "" if options is None else options.text(1, "shared_name")


_PER_LINE = 16
_APART = 32
"""The maximum number of bytes by which an allocator for two memories is larger than one for a single memory."""


def write_c_model(data: bytes, arena: ModelArena, stem: str, section: str | None = None) -> Mapping[str, bytes]:
    """Return a C header and source, by suffix, with a model and its arena; the arena is in its own section."""
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
