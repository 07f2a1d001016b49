"""Adapters for planners of other projects, called peers.

A peer is a callable `(problem, time_limit_s) -> offsets`; offsets are in bytes, in the problem's order of buffers. It
raises OptionError for a problem that it cannot express. memplan's verifier checks its plans, as it does all plans.
`memplan bench` can also measure any such function, given by the name `module:function`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, cast

import numpy as np

from memplan.planner.errors import OptionError
from memplan.planner.errors.extras import is_installed
from memplan.planner.extensions import import_object
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.entries import entries_of
from memplan.planner.model.problem import Problem
from memplan.solvers.reference.table import is_own_planner

PeerSolver = Callable[[Problem, float], I64]
_THREADS = 6
"""The number of threads for omnimalloc's branch and bound; omnimalloc's portfolio bounds with the same number."""


@dataclass(frozen=True)
class Peer:
    """A planner of another project: its function `where` (as `module:function`), and its PyPI package, if known."""

    name: str
    where: str
    package: str
    distribution: str | None = None

    @property
    def is_installed(self) -> bool:
        """True if the peer's Python package can be imported."""
        return is_installed(self.package)

    @property
    def version(self) -> str:
        """The name and version of the installed package, or the peer's name if its package is unknown."""
        return self.name if self.distribution is None else f"{self.distribution} {version(self.distribution)}"

    def load(self) -> PeerSolver:
        """Import and return the peer's function."""
        return cast(PeerSolver, import_object(self.where))


PEERS = {
    name: Peer(name, f"{__name__}:{function}", "omnimalloc", "omnimalloc")
    for name, function in (("supermalloc", "supermalloc"), ("omnimalloc", "omnimalloc_default"))
}


def find(name: str) -> Peer | None:
    """Return the peer with this name, or None; a name `module:function` means that function."""
    if not is_own_planner(name):
        return PEERS.get(name)
    return Peer(name, name, package=name.partition(":")[0].partition(".")[0])


def supermalloc(problem: Problem, time_limit_s: float) -> I64:
    """Return the offsets, in bytes, that omnimalloc's branch and bound finds within the time limit."""
    from omnimalloc.allocators import SupermallocAllocator

    return _allocate(problem, SupermallocAllocator(timeout=time_limit_s, num_threads=_THREADS))


def omnimalloc_default(problem: Problem, time_limit_s: float) -> I64:
    """Return the offsets, in bytes, of omnimalloc's greedy portfolio, which ignores the time limit."""
    from omnimalloc.allocators import OmniAllocator

    return _allocate(problem, OmniAllocator())


def _allocate(problem: Problem, allocator: Any) -> I64:
    """Return the offsets, in bytes, that an omnimalloc allocator finds for sizes rounded up to `granule(problem)`."""
    from omnimalloc import Allocation, allocate

    table, step = problem.buffers, granule(problem)
    size = np.maximum(1, -(-table.size // step)) * step
    first = int(table.start.min(initial=0))
    columns = (values.tolist() for values in (size, table.start - first, table.end - first))
    offset = np.zeros(len(size), dtype=np.int64)
    for placed in allocate([Allocation(i, *row) for i, row in enumerate(zip(*columns, strict=True))], allocator):
        offset[int(placed.id)] = placed.offset
    return offset


def granule(problem: Problem) -> int:
    """Return the granule: sizes are rounded up to its multiples for planners that ignore alignment.

    It is the least common multiple of all alignments. Raises OptionError if the problem has features beyond alignment.
    """
    table, pool = problem.buffers, problem.pools[0]
    beyond = {
        "several pools": len(problem.pools) > 1,
        "a capacity": pool.size is not None,
        "reserved ranges": bool(pool.reserved),
        "a base address": pool.base_address > 0,
        "conflicts": bool(problem.conflicts),
        "lifetimes with holes": bool((np.diff(table.first) != 1).any()),
        "pinned offsets": bool((table.offset >= 0).any()),
        "aliases": bool(table.aliases),
        "other constraints": bool(entries_of(problem).keys() - {"conflicts"}) or any(table.rules.values()),
        "an objective other than the peak": problem.objective != "peak",
    }
    if features := [feature for feature, is_there in beyond.items() if is_there]:
        raise OptionError(f"solver: peers cannot express {', '.join(features)}")
    return math.lcm(pool.alignment, *table.alignment.tolist())
