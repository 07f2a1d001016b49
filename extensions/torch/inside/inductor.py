"""Inductor's memory pools, planned once for all shapes: formulas for the offsets instead of a tree of allocations.

Inductor first plans each pool itself. memplan's plan replaces inductor's if its padded size is proved to be no larger
at any shape, and its exact size is no larger at sampled shapes. Live buffers do not overlap at any shape.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from memplan.extensions.shapes.search.certificate import prove_within
from memplan.extensions.shapes.search.search import ProvedPrograms, search_programs
from memplan.extensions.shapes.shapes import ShapesOptions
from memplan.planner.errors import InputError
from memplan.programs.symbols.comparing import samples
from memplan.programs.symbols.problem import SymbolicBuffer, SymbolicProblem
from memplan.programs.symbols.reading import parse_expression
from memplan.programs.symbols.space import SymbolRange
from memplan.questions.question import Control

MOST_PARTS = 20_000
"""The maximum number of terms in all offsets, since inductor's code repeats the terms of the offsets below each one."""
SAMPLES = 64
MOST_SIZE = 2**16
"""The bound assumed for a dimension that torch leaves unbounded; the sizes of pools are compared up to it."""


@dataclass(frozen=True)
class PlannedPool:
    """Two sizes of an inductor pool as sympy expressions: by inductor's own allocation tree, and by the plan used."""

    blocks: int
    tree: Any
    bytes: Any

    @property
    def is_planned(self) -> bool:
        """True if memplan's plan replaces inductor's allocation tree."""
        return self.bytes is not self.tree


@contextmanager
def planned_pools(time_limit_s: float = 10.0) -> Iterator[list[PlannedPool]]:
    """Plan the pools of all graphs compiled inside the block, each with the time limit; yield the list of results.

    Inside the block, inductor's memory planning is on, with intermediate values and outputs in one pool.
    """
    from torch._inductor import config
    from torch._inductor.codegen.memory_planning import MemoryPlanner

    planned: list[PlannedPool] = []
    original = MemoryPlanner.allocate_groups

    def allocate_groups(self: Any) -> None:
        original(self)
        pools = {id(group.allocation.pool): group.allocation.pool for group in self.buffer_groups}
        for pool in pools.values():
            blocks = [group.allocation for group in self.buffer_groups if group.allocation.pool is pool]
            planned.append(_planned_pool(pool, blocks, time_limit_s))

    with config.patch(memory_planning=True, memory_pool="combined"):
        MemoryPlanner.allocate_groups = allocate_groups
        try:
            yield planned
        finally:
            MemoryPlanner.allocate_groups = original


class _Root:
    """A replacement for a pool's allocation tree; after offsets are set, inductor reads only its size and lifetimes."""

    allocations = ()

    def __init__(self, size: Any, tree: Any) -> None:
        self.get_symbolic_size = lambda: size
        self.get_live_ranges = tree.get_live_ranges


def _planned_pool(pool: Any, blocks: Sequence[Any], time_limit_s: float) -> PlannedPool:
    """Plan a pool for all shapes; apply the plan if it is proved to be no larger than inductor's."""
    import sympy

    tree = sympy.sympify(pool.root.get_symbolic_size())
    own = PlannedPool(len(blocks), tree, tree)
    sizes = [sympy.sympify(block.symbolic_size) for block in blocks]
    if any(block.earliest_available is not None for block in blocks):
        # A size that becomes known late would change the offsets of earlier blocks, so keep inductor's plan.
        return own
    try:
        problem = _symbolic_problem(blocks, sizes)
        programs = search_programs(problem, 1, Control().begin(ShapesOptions(time_limit_s=time_limit_s)))
        is_as_good = programs.proof.ratio == 0 or _is_never_above(programs, tree, time_limit_s)
    # An InputError means that a size has a function that no polynomial can express, so keep inductor's plan.
    except InputError:
        return own
    written = _inductor_expressions(programs, sizes)
    if not is_as_good or written is None:
        return own
    offsets, size = written
    symbols = {symbol.name: symbol for each in (tree, size) for symbol in each.free_symbols}
    for point in samples(programs.sized.space, SAMPLES):
        values = {symbols[name]: value for name, value in point.items() if name in symbols}
        if size.subs(values) > tree.subs(values):
            # The proof assumes padding after the uppermost block, but inductor adds none, so keep inductor's plan.
            return own
    for block, offset in zip(blocks, offsets, strict=True):
        block.offset = offset
    pool.root = _Root(size, pool.root)
    return PlannedPool(len(blocks), tree, size)


def _symbolic_problem(blocks: Sequence[Any], sizes: Sequence[Any]) -> SymbolicProblem:
    """Return a pool's blocks as a problem with symbolic sizes, and with the symbols' ranges from inductor."""
    from torch._inductor.utils import ALIGN_BYTES
    from torch._inductor.virtualized import V

    symbols = {}
    for symbol in sorted({symbol for size in sizes for symbol in size.free_symbols}, key=str):
        span = V.graph.sizevars.shape_env.var_to_range[symbol]
        most = int(span.upper) if span.upper < MOST_SIZE else MOST_SIZE
        symbols[str(symbol)] = SymbolRange(min=max(0, int(span.lower)), max=most)
    rows = [
        SymbolicBuffer(id=i, size=str(size), start=life.begin, end=max(life.end, life.begin + 1))
        for i, (size, life) in enumerate(zip(sizes, [block.live_range for block in blocks], strict=True))
    ]
    return SymbolicProblem(symbols=symbols, buffers=tuple(rows), alignment=ALIGN_BYTES)


def _is_never_above(found: ProvedPrograms, tree: Any, time_limit_s: float) -> bool:
    from torch._inductor.utils import ALIGN_BYTES, align
    from torch.utils._sympy.functions import FloorDiv

    padded = align(tree).replace(align, lambda end: ALIGN_BYTES * FloorDiv(end + ALIGN_BYTES - 1, ALIGN_BYTES))
    load = parse_expression(str(padded), found.sized.space, "tree")
    deadline = Control().begin(ShapesOptions(time_limit_s=time_limit_s)).deadline.at
    forms = [program.forms for program in found.programs.programs if program.forms is not None]
    return prove_within(found.sized, forms, [load], Fraction(0), deadline).found == "proved"


def _inductor_expressions(found: ProvedPrograms, sizes: Sequence[Any]) -> tuple[list[Any], Any] | None:
    """Return the offsets and the bytes of the pool as expressions for inductor; None if they are too long."""
    import sympy
    from torch._inductor.utils import align
    from torch.utils._sympy.functions import Max

    program = found.programs.programs[0]
    if sum(program.counts()[:-1]) > MOST_PARTS:
        return None
    forms = {form: align(size) for form, size in zip(found.sized.form_of.tolist(), sizes, strict=True)}

    def max_expression(ends: list[Any]) -> Any:
        return Max(*ends) if len(ends) > 1 else ends[0] if ends else sympy.Integer(0)

    offsets, _ = program.expressions(forms, max_expression)
    tops = zip(program.which, found.sized.form_of.tolist(), strict=True)
    last = [offsets[i] + sizes[i] for i, top in enumerate(tops) if top in program.last]
    return offsets, max_expression(last)
