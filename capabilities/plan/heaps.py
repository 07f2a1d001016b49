"""The capability `heaps`: a plan in heaps of at most so many bytes each, the fewest, then few bytes in all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from memplan.capabilities.capability import Answer, Capability, CapabilityOptions, Control
from memplan.capabilities.inputs import EXAMPLE, PROBLEM
from memplan.capabilities.plan.heap_search import in_heaps
from memplan.capabilities.question import Question
from memplan.capabilities.sizes import size_text
from memplan.planner.errors import OptionError
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import MAX_BYTES, Placement
from memplan.solvers.portfolio.solve import solve


class HeapsOptions(CapabilityOptions):
    """Options of heaps."""

    heap_limit: Annotated[int, Field(ge=1, le=MAX_BYTES)] | None = Field(
        None, description="The most bytes of a heap; by default the capacity of the pool."
    )


class HeapsAnswer(Answer):
    """Heaps by their bytes, the fullest first, and the placement of each buffer in `heap 1`, `heap 2` and so on.

    No plan has fewer than `least_heaps`, or less than `least_bytes` in all; `optimal` where this one has no more.
    """

    status: Literal["optimal", "feasible"]
    heap_limit: int
    heaps: tuple[int, ...]
    least_heaps: int
    total: int
    least_bytes: int
    placements: tuple[Placement, ...]


def heaps(problem: Problem, options: HeapsOptions = HeapsOptions(), control: Control = Control()) -> HeapsAnswer:
    """Plan a problem of one pool in heaps of at most so many bytes each: the fewest, then few bytes in all.

    For devices that bind no buffer above a limit, and allocators that find no larger piece.
    """
    size, running = _size(problem, options), control.begun(options)

    def part(each: Problem, share: float, more: Mapping[str, Any]) -> Plan:
        within = running.within(share * running.left_s)
        return solve(each, time_limit_s=within.left_s, **more, control=within.searching())

    found = in_heaps(problem, size, part)
    used = found.used
    return HeapsAnswer(
        status="optimal" if (len(used), sum(used)) == (found.least_heaps, found.least_bytes) else "feasible",
        heap_limit=size,
        heaps=tuple(used),
        least_heaps=found.least_heaps,
        total=sum(used),
        least_bytes=found.least_bytes,
        placements=tuple(found.plan.placements),
    )


def _size(problem: Problem, options: HeapsOptions) -> int:
    if len(problem.pools) > 1:
        raise OptionError(f"heap_limit: must be for problems of one pool, got {len(problem.pools)} pools")
    size = problem.pools[0].size if options.heap_limit is None else options.heap_limit
    if size is None:
        raise OptionError("heap_limit: is required where the pool has no size")
    return size


def lines(found: HeapsAnswer) -> Iterator[str]:
    """Yield the heaps for people."""
    count = len(found.heaps)
    fewest = "no fewer are enough" if count == found.least_heaps else f"at least {found.least_heaps:,} are needed"
    yield f"{found.status}: {count:,} heaps of at most {found.heap_limit:,} bytes, {fewest}"
    over = "" if found.total == found.least_bytes else f", {found.total / max(1, found.least_bytes) - 1:.2%} above it"
    yield f"{found.total:,} bytes in all ({size_text(found.total)}), lower bound {found.least_bytes:,}{over}"
    for k, used in enumerate(found.heaps[:20]):
        yield f"heap {k + 1}: {used:,} bytes"


def _check(question: Question, options: HeapsOptions) -> None:
    _size(question["problem"], options)


CAPABILITY = Capability(
    heaps,
    inputs=(PROBLEM,),
    lines=lines,
    check=_check,
    example={"problem": EXAMPLE, "options": {"heap_limit": 80, "time_limit_s": 5}},
)
