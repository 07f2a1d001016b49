"""The registration of Vela, the compiler for Arm's Ethos-U: its planner; its models are read as TensorFlow Lite."""

from __future__ import annotations

from memplan.planner.systems import ReferencePlanner, System

SYSTEM = System(
    name="vela",
    title="Vela",
    planners=(
        ReferencePlanner(
            "reference:vela-hill-climb",
            "first fit, in an order learnt from the highest buffer (Vela, the compiler for Ethos-U)",
            "ethos-u-vela 5.2.0, ethosu/vela/hillclimb_allocation.py: HillClimbAllocator",
            "memplan.extensions.systems.vela.planner:hill_climb",
            other_names="vela ethos-u",
        ),
    ),
)
