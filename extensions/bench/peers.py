"""Adapters for other planners, each for a package maintained elsewhere.

A peer is a callable `(problem, time_limit_s) -> offsets`, in bytes and in the problem's order. It refuses a problem
that it cannot express with OptionError. Its plans are verified like any other. Any other function of this kind can be
measured, too: `module:function` is its name.
"""

from __future__ import annotations

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
from memplan.solvers.reference.table import PREFIX

PeerSolver = Callable[[Problem, float], I64]
_THREADS = 6
"""A thread count; with fewer, no member of omnimalloc's portfolio computes the lower bound."""


@dataclass(frozen=True)
class Peer:
    """A row of the table: `where` is `module:function`, `distribution` the package that it adapts, if there is one."""

    name: str
    where: str
    package: str
    distribution: str | None = None

    @property
    def is_installed(self) -> bool:
        """True if its package can be imported."""
        return is_installed(self.package)

    @property
    def version(self) -> str:
        """The name and version of the installed distribution."""
        return self.name if self.distribution is None else f"{self.distribution} {version(self.distribution)}"

    def load(self) -> PeerSolver:
        """Import the peer's function."""
        return cast(PeerSolver, import_object(self.where))


PEERS = {
    name: Peer(name, f"{__name__}:{function}", "omnimalloc", "omnimalloc")
    for name, function in (("supermalloc", "supermalloc"), ("omnimalloc", "omnimalloc_default"))
}


def find(name: str) -> Peer | None:
    """Return the peer of a name; for `module:function`, that function as a peer; None for other names."""
    if ":" not in name or name.startswith(PREFIX):
        return PEERS.get(name)
    return Peer(name, name, package=name.partition(":")[0].partition(".")[0])


def supermalloc(problem: Problem, time_limit_s: float) -> I64:
    """Return the offsets of omnimalloc's branch and bound."""
    from omnimalloc.allocators import SupermallocAllocator

    return _allocate(problem, SupermallocAllocator(timeout=time_limit_s, num_threads=_THREADS))


def omnimalloc_default(problem: Problem, time_limit_s: float) -> I64:
    """Return the offsets of omnimalloc's greedy portfolio, which has no time limit."""
    from omnimalloc.allocators import OmniAllocator

    return _allocate(problem, OmniAllocator())


def _allocate(problem: Problem, allocator: Any) -> I64:
    """Return the offsets of an allocator, with sizes rounded to alignments and times shifted to 0."""
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
    """Return a step that all alignments divide; raises OptionError unless buffers are plain sized intervals.

    With sizes rounded up to it, planners that know no alignment will do.
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
