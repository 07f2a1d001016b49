"""Kernels of the search for cascades: ranges, growing of regions, fronts."""

from memplan.solvers.kernels.groups import KernelGroup

GROUP = KernelGroup(
    "cascade",
    (
        "capabilities.cascade.kernels.tiles.grow_tiles",
        "capabilities.cascade.kernels.tiles.follow_region",
        "capabilities.cascade.kernels.front.best_chain",
        "capabilities.cascade.kernels.front.undominated_of_three",
    ),
)
