"""The options of importers, and their results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from memplan.planner.errors import FormatError, OptionError, shown
from memplan.planner.liveness import Reading
from memplan.planner.model.buffer_table import column
from memplan.planner.model.finding import Finding
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import MAX_BYTES, Alignment, Name, WireValue
from memplan.planner.operations.operations import Operations
from memplan.planner.operations.program_facts import ProgramFacts

_ENDLESS = 2**128
Views = Literal["alias", "separate"]


class ImportOptions(WireValue):
    """Options for reading a model.

    Every buffer is aligned to `alignment` bytes, and its size rounded up to it; without, to the
    alignment of the model's runtime. A view is an alias of its source where that is proved safe, or else, and where
    `views` says `separate`, a buffer of its own. `dims` are the sizes of dimensions that the model only names,
    `scratch` the bytes that kernels ask for while they run, by the names of operators. With `facts`, shapes, types,
    kinds and attributes are read as well.
    """

    alignment: Alignment | None = None
    views: Views = "alias"
    dims: dict[Name, Annotated[int, Field(ge=0, le=MAX_BYTES)]] = Field(default_factory=dict)
    scratch: dict[Name, Annotated[int, Field(ge=0, le=MAX_BYTES)]] = Field(default_factory=dict)
    reading: Reading = Reading()
    facts: bool = False


def sizes_by_name(entries: Iterable[str], option: str, form: str) -> dict[str, int]:
    """Return the numbers in entries of an option such as `batch=1`; raises OptionError, which tells the form."""
    found: dict[str, int] = {}
    for entry in entries:
        name, _, size = entry.rpartition("=")
        if not name or not (size.isascii() and size.isdecimal()) or len(size) > 18:
            raise OptionError(f"{option}: must be {form}, got {shown(entry)}")
        if name in found:
            raise OptionError(f"{option}: must be given once for each name, got {shown(name)} again")
        found[name] = int(size)
    return found


@dataclass(frozen=True)
class ViewFacts:
    """The bytes that the views of a model take: none those that are aliases, and `apart_bytes` all others."""

    aliases: int = 0
    alias_bytes: int = 0
    apart: int = 0
    apart_bytes: int = 0


@dataclass(frozen=True)
class Imported:
    """A problem, and where it comes from.

    `operations` is None where a file tells lifetimes only; `own_peak` is what the planner that wrote the file used,
    if the file says so, and `own_plan` has its offsets, if the file has them all. `facts` are what the file tells of
    its operations beside their order.
    """

    problem: Problem
    operations: Operations | None = None
    views: ViewFacts = ViewFacts()
    warnings: tuple[Finding, ...] = ()
    own_peak: int | None = None
    facts: ProgramFacts = field(default_factory=ProgramFacts)
    own_plan: Plan | None = None

    @property
    def has_scratch(self) -> bool:
        """True if kernels ask for bytes beside the operations' buffers, known or not."""
        return self.has_unknown_scratch or any(str(name).startswith("scratch/") for name in self.problem.buffers.ids)

    @property
    def has_unknown_scratch(self) -> bool:
        """True if kernels ask for bytes that are in no plan, so that none says what the device takes."""
        return any(warning.rule == "unknown-scratch" for warning in self.warnings)


def plan_of(problem: Problem, offsets: Mapping[int | str, int]) -> Plan | None:
    """Return the plan of known offsets, each buffer in the first pool that it may use; None where one is not known.

    An alias that has none lies in its buffer.
    """
    table, rows = problem.buffers, []
    for i, name in enumerate(table.ids):
        offset = offsets.get(name)
        if offset is None and i in table.aliases:
            root, distance = problem.roots[i]
            offset = None if table.ids[root] not in offsets else offsets[table.ids[root]] + distance
        if offset is None or not 0 <= offset <= MAX_BYTES:
            return None
        pools = problem.allowed_pools(i)
        rows.append((pools[0] if pools else 0, offset))
    names = tuple(pool.name for pool in problem.pools)
    pool, at = column([q for q, _ in rows]), column([offset for _, offset in rows])
    return Plan(placements=PlacementTable(table.ids, names, pool, at))


def element_count(dims: Iterable[int]) -> int:
    """Return the product of sizes; beyond whatever fits into memory it is not multiplied to the end."""
    sizes, count = list(dims), 1
    if 0 in sizes:
        return 0
    for size in sizes:
        count *= size
        if count > _ENDLESS:
            break
    return count


def sized(what: str, elements: int, bits: int, alignment: int) -> int:
    """Return the bytes of so many elements, packed, and rounded up to the alignment; raises FormatError."""
    size = -(-elements * bits // 8)
    size = -(-size // alignment) * alignment
    if size > MAX_BYTES:
        raise FormatError(f"{what}: must take at most {MAX_BYTES} bytes, got {shown(size)}")
    return size
