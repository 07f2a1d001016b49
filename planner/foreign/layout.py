"""A verified plan in the form that exporters use: pools, and buffers with offsets, each with a C name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import lcm
from typing import TYPE_CHECKING

from memplan.planner.errors import MAX_SHOWN, FormatError, Option, PlanError, excerpt
from memplan.planner.foreign.c_names import identifiers
from memplan.planner.instance.audit import refuse_other_plan
from memplan.planner.model.moving import as_pieces
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Pool, Problem
from memplan.planner.verify.moved import copies_in_order
from memplan.planner.verify.verifier import verify

if TYPE_CHECKING:
    from memplan.planner.foreign.model_options import ModelOptions


@dataclass(frozen=True)
class PlacedBuffer:
    """A buffer of a layout, with its placement.

    `pool` is the position of its pool in the layout; `name` follows the prefix in the buffer's C names.
    """

    id: int | str
    name: str
    pool: int
    offset: int
    size: int
    alignment: int


@dataclass(frozen=True)
class PlacedCopy:
    """A copy of `size` bytes between two pieces of a buffer, which are positions in the layout's `buffers`.

    It begins at `time`, before the operation of that time or, if it `is_late`, after it.
    """

    id: int | str
    time: int
    is_late: bool
    source: int
    to: int
    size: int


@dataclass(frozen=True)
class PlacedPool:
    """A pool of a layout, with its C name (`name`) and `extent`, the number of used bytes from the pool's start.

    If the address of the pool's first byte is a multiple of `alignment`, all alignment, page and bank rules hold there
    as they do at address 0.
    """

    pool: Pool
    name: str
    extent: int
    alignment: int

    @property
    def has_address(self) -> bool:
        """True if the problem states the pool's base address, even as 0."""
        return "base_address" in self.pool.model_fields_set

    @property
    def is_of_cpu(self) -> bool:
        """True if C can allocate the pool: its device is not given, or is the CPU (by name or by DLPack's number 1)."""
        device = self.pool.device
        return device in (None, 1) or str(device).lower().partition(":")[0] == "cpu"

    @property
    def exceeds_c_alignment(self) -> bool:
        """True if C cannot express the alignment: it is not a power of two, or does not divide the base address."""
        return self.pool.base_address % self.alignment != 0 or self.alignment.bit_count() != 1


@dataclass(frozen=True)
class VerifiedLayout:
    """A problem's pools and buffers with their placements, in the problem's order.

    With `moves`, `buffers` are the pieces of buffers, in the plan's order, and `copies` the copies between them, in the
    order in which they run.
    `model`: the file that the problem was read from. `options`: the options with which it was read. `section`: the
    linker section of all C arrays; by default, each array has a separate section.
    """

    problem: Problem
    pools: tuple[PlacedPool, ...]
    buffers: tuple[PlacedBuffer, ...]
    model: bytes | None = None
    options: ModelOptions | None = None
    section: str | None = None
    copies: tuple[PlacedCopy, ...] = ()

    @property
    def used_pools(self) -> tuple[PlacedPool, ...]:
        """The pools that hold at least one buffer."""
        used = {buffer.pool for buffer in self.buffers}
        return tuple(pool for q, pool in enumerate(self.pools) if q in used)

    def split_into_regions(self) -> VerifiedLayout:
        """Return the layout with each pool that has an address split at the pool's reserved ranges.

        Each byte range between two reserved ranges becomes a separate pool, and its offsets count from the start of the
        range. The first range in use keeps the pool's name, and further ranges are numbered. Raises FormatError if the
        addresses of two pools overlap.
        """
        pools: list[PlacedPool] = []
        moved = list(self.buffers)
        for q, pool in enumerate(self.pools):
            inside = [i for i, buffer in enumerate(self.buffers) if buffer.pool == q]
            for low, high in _unreserved_ranges(pool.pool) if pool.has_address else ((0, None),):
                mine = [
                    i for i in inside if low <= self.buffers[i].offset and (high is None or self._end_offset(i) <= high)
                ]
                inside = [i for i in inside if i not in set(mine)]
                if mine or not pool.has_address:
                    for i in mine:
                        moved[i] = replace(self.buffers[i], pool=len(pools), offset=self.buffers[i].offset - low)
                    extent = max((self._end_offset(i) - low for i in mine), default=0)
                    pools.append(_part_of_pool(pool, low, high, extent))
        names = identifiers([pool.name for pool in pools])
        named = tuple(replace(pool, name=name) for pool, name in zip(pools, names, strict=True))
        regions = replace(self, pools=named, buffers=tuple(moved))
        _refuse_shared_addresses([pool for pool in regions.used_pools if pool.has_address])
        return regions

    def _end_offset(self, i: int) -> int:
        return self.buffers[i].offset + self.buffers[i].size

    def refuse_other_devices(self, target: str) -> None:
        """Raise FormatError if a used pool is on a device whose memory C cannot allocate."""
        for pool in self.used_pools:
            if not (pool.is_of_cpu or (target == "c" and pool.has_address)):
                raise FormatError(
                    (
                        *(f"pool {excerpt(pool.pool.name)}: device must be the CPU for ", Option("to", target)),
                        f", which allocates all pools on the CPU, got {excerpt(pool.pool.device)}; ",
                        *(Option("to", "triples"), " and ", Option("to", "mlf"), " leave the allocation to you"),
                    )
                )

    def single_pool(self, target: str) -> PlacedPool:
        """Return the only pool with buffers, or the first pool if all are empty; raises FormatError for several."""
        used = self.used_pools
        if len(used) > 1:
            names = ", ".join(excerpt(pool.pool.name) for pool in used)
            rule = f"plan: must have all buffers in one pool for {target}, got {names}; "
            raise FormatError((rule, Option("to", "c"), " and ", Option("to", "ld"), " write several pools"))
        return used[0] if used else self.pools[0]


def lay_out(
    problem: Problem, plan: Plan, model: bytes | None = None, options: ModelOptions | None = None
) -> VerifiedLayout:
    """Return the layout of a plan; raises PlanError if the plan is not valid for the problem."""
    if plan.status in ("infeasible", "unknown"):
        raise PlanError(f"plan.status: must be optimal or feasible, got {plan.status}: `memplan explain` says why")
    refuse_other_plan(problem, plan)
    violations = verify(problem, plan)
    made, read = plan.read_with or {}, problem.read_with or {}
    if violations and (other := [name for name in {**made, **read} if made.get(name) != read.get(name)]):
        values = {name: read.get(name) for name in other}
        flags = (Option(name, f"{value}" if isinstance(value, str | int) else "") for name, value in values.items())
        ways = (part for flag in flags for part in (" ", flag))
        raise PlanError(("plan: was made for the problem read otherwise: make it again with", *ways))
    if violations:
        sentences = [f"{entry.rule}: {entry.message}" for entry in violations[:MAX_SHOWN]]
        raise PlanError(
            *sentences, "plan: must be valid; `memplan plan --keep PLAN` keeps valid placements and moves the others"
        )
    return layout_of(problem, plan, model, options)


def layout_of(
    problem: Problem, plan: Plan, model: bytes | None = None, options: ModelOptions | None = None
) -> VerifiedLayout:
    """Return the layout of a plan that is verified already."""
    copies = tuple(_placed_copies(problem, plan)) if problem.moves else ()
    plain, plan = as_pieces(problem, plan)
    buffers = _placed_buffers(plain, plan)
    names = identifiers([pool.name for pool in problem.pools])
    pools = tuple(
        PlacedPool(pool, name, _extent(buffers, q), _common_alignment(plain, buffers, q))
        for q, (pool, name) in enumerate(zip(problem.pools, names, strict=True))
    )
    return VerifiedLayout(problem, pools, buffers, model, options, copies=copies)


def _placed_copies(problem: Problem, plan: Plan) -> Iterator[PlacedCopy]:
    rows: dict[tuple[int | str, str], list[int]] = {}
    for k, row in enumerate(plan.placements):
        rows.setdefault((row.id, row.pool), []).append(k)
    starts, ends = plan.placements.start, plan.placements.end
    assert starts is not None  # The plan is valid.
    assert ends is not None
    for is_late, copy in copies_in_order(problem, plan):
        source, to = (
            next(k for k in rows[copy.id, pool] if starts[k] <= copy.time < ends[k]) for pool in (copy.source, copy.to)
        )
        yield PlacedCopy(copy.id, copy.time, is_late, source, to, copy.bytes)


def _refuse_shared_addresses(pools: Sequence[PlacedPool]) -> None:
    """Raise FormatError if the addresses of two pools on the same device overlap."""
    for low, high in permutations(pools, 2):
        end = low.pool.base_address + (low.extent if low.pool.size is None else low.pool.size)
        if low.pool.device == high.pool.device and low.pool.base_address <= high.pool.base_address < end:
            rule = f"must be at least 0x{end:x}, where {excerpt(low.pool.name)} ends"
            raise FormatError(f"pool {excerpt(high.pool.name)}: base_address {rule}, got 0x{high.pool.base_address:x}")


def _unreserved_ranges(pool: Pool) -> tuple[tuple[int, int | None], ...]:
    """Return a pool's byte ranges between its reserved ranges, ascending; an unlimited pool's last end is None."""
    stretches: list[tuple[int, int | None]] = []
    low = 0
    for offset, size in sorted(pool.reserved):
        if size and offset > low:
            stretches.append((low, offset))
        low = max(low, offset + size)
    if pool.size is None or low < pool.size or not stretches:
        stretches.append((low, pool.size))
    return tuple(stretches)


def _part_of_pool(whole: PlacedPool, low: int, high: int | None, extent: int) -> PlacedPool:
    if low == 0 and high == whole.pool.size:
        return whole
    fields = {"size": None if high is None else high - low, "reserved": ()}
    if whole.has_address:
        fields["base_address"] = whole.pool.base_address + low
    return replace(whole, pool=whole.pool.model_copy(update=fields), extent=extent)


def _placed_buffers(problem: Problem, plan: Plan) -> tuple[PlacedBuffer, ...]:
    table = problem.buffers
    places = {row.id: (problem.pool_index[row.pool], row.offset) for row in plan.placements}
    sizes, alignments = table.size.tolist(), table.alignment.tolist()
    return tuple(
        PlacedBuffer(id_, name, *places[id_], size, alignment)
        for id_, name, size, alignment in zip(table.ids, identifiers(table.ids), sizes, alignments, strict=True)
    )


def _extent(buffers: Sequence[PlacedBuffer], q: int) -> int:
    return max((buffer.offset + buffer.size for buffer in buffers if buffer.pool == q), default=0)


def _common_alignment(problem: Problem, buffers: Sequence[PlacedBuffer], q: int) -> int:
    pool = problem.pools[q]
    steps = {buffer.alignment for buffer in buffers if buffer.pool == q}
    steps |= {page for i, page in problem.buffers.rules["no_cross"].items() if buffers[i].pool == q}
    if pool.bank_size is not None and problem.bank:
        steps.add(pool.bank_size)
    return lcm(pool.alignment, *steps)
