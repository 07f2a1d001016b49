"""The kernel that improves orders of stacking for many values at once."""

from memplan.solvers.kernels.groups import KernelGroup

GROUP = KernelGroup(
    "symbolic",
    ("capabilities.shapes.kernels.annealing.anneal",),
)
