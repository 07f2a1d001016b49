"""Other planners, to be measured beside ours: small adapters, each to a package maintained elsewhere.

A peer is a callable `(problem, time_limit_s) -> offsets`, in bytes and in the problem's order. What it cannot express
it refuses with OptionError. Its plans are verified like any other. Any other function of this kind can be measured,
too: `module:function` is its name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import cast

from memplan.planner.errors.extras import imported, is_installed
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.problem import Problem
from memplan.solvers.reference.table import PREFIX

PeerSolver = Callable[[Problem, float], I64]


@dataclass(frozen=True)
class Peer:
    """A row of the table: `where` is `module:function`, `distribution` the package that it adapts, if there is one."""

    name: str
    summary: str
    where: str
    package: str
    distribution: str | None = None

    @property
    def is_installed(self) -> bool:
        """True if the package can be imported."""
        return is_installed(self.package)

    @property
    def version(self) -> str:
        """Name and version of the distribution that is installed."""
        return self.name if self.distribution is None else f"{self.distribution} {version(self.distribution)}"

    def load(self) -> PeerSolver:
        """Import the peer's function."""
        return cast(PeerSolver, imported(self.where))


PEERS = {
    peer.name: peer
    for peer in (
        Peer(
            "supermalloc",
            "branch and bound of omnimalloc, with the 6 threads that it needs to ask for the bound",
            "memplan.api.bench.peers.omnimalloc:supermalloc",
            "omnimalloc",
            "omnimalloc",
        ),
        Peer(
            "omnimalloc",
            "the default of omnimalloc: a portfolio of greedy orders",
            "memplan.api.bench.peers.omnimalloc:default",
            "omnimalloc",
            "omnimalloc",
        ),
        Peer(
            "vela-hillclimb",
            "the hill climb of Arm's Vela compiler, until the time limit",
            "memplan.api.bench.peers.vela:hill_climb",
            "ethosu",
            "ethos-u-vela",
        ),
    )
}


def find(name: str) -> Peer | None:
    """Return the peer of that name; for `module:function`, that function as a peer; None for any other name."""
    if ":" not in name or name.startswith(PREFIX):
        return PEERS.get(name)
    return Peer(name, "a planner of your own", name, package=name.partition(":")[0].partition(".")[0])
