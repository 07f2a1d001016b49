"""The registration of the reimplementation of TFLite Micro's planner."""

from memplan.planner.systems import ANY, ReferencePlanner, System

SYSTEM = System(
    name="tflm",
    title="TFLite Micro",
    planners=(
        ReferencePlanner(
            "reference:tflite-micro-greedy",
            "largest first, into the lowest gap (TFLite Micro)",
            "tensorflow/tflite-micro 17bebc092249, "
            "tensorflow/lite/micro/memory_planner/greedy_memory_planner.cc: GreedyMemoryPlanner",
            "memplan.runtimes.tflm.planner:plan_greedily",
            ANY | {"pins"},
            "tflm tflite tflite-micro",
        ),
    ),
)
