"""Compiled searches of orders of operations."""

from memplan.solvers.kernels.groups import KernelGroup

GROUP = KernelGroup(
    "order",
    (
        "capabilities.order.kernels.depth_first.search_order",
        "capabilities.order.kernels.closure.close_cheaply",
        "capabilities.order.kernels.nearness.follow_order",
        "capabilities.order.kernels.replay.replay_drops",
    ),
)
