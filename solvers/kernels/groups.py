"""The groups of kernels: what is compiled together, into one library, and the digest of what it depends on."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parent
_COMMON = ("abi.py", "build.py", "groups.py", "tables.py")
"""The modules that all machine code depends on, beside those in the folders of a group."""


@dataclass(frozen=True)
class KernelGroup:
    """Kernels, each a `module.function` of this package, that are compiled together and kept in one library."""

    name: str
    kernels: tuple[str, ...]

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders with all the sources of its kernels."""
        return tuple(sorted({name.partition(".")[0] for name in self.kernels}))


PLANNING = KernelGroup(
    "planning",
    (
        "exact.sections.lay_out",
        "exact.search.search",
        "packing.pack.pack",
        "packing.quick_orders.pack_in_orders",
        "lemmas.search.prove_unfit",
    ),
)
ORDER = KernelGroup(
    "order",
    (
        "order.depth_first.search_order",
        "order.beam.beam_order",
        "order.closure.close_cheaply",
        "order.nearness.follow_order",
        "order.replay.replay_drops",
    ),
)
STABLE = KernelGroup("stable", ("stable.ejection.eject",))
CASCADE = KernelGroup(
    "cascade",
    (
        "cascade.rows.grow_rows",
        "cascade.tiles.grow_tiles",
        "cascade.front.cull",
        "cascade.front.best_chain",
        "cascade.front.undominated_of_three",
    ),
)
SYMBOLIC = KernelGroup("symbolic", ("symbolic.annealing.anneal",))
GROUPS = (PLANNING, ORDER, STABLE, CASCADE, SYMBOLIC)


def source_digest(group: KernelGroup) -> str:
    """Return a digest of all the sources that a group's machine code depends on."""
    sources = [_HERE / name for name in _COMMON]
    sources += sorted(source for folder in group.folders for source in (_HERE / folder).glob("*.py"))
    return hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()
