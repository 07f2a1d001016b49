"""Runtimes and compilers: for each system one folder, with the readers and writers of its files, and its planners.

`memplan` registers `TABLES` when it is imported; see `memplan.extensions`.
"""

from collections.abc import Callable, Mapping
from typing import Any


def _systems() -> Mapping[str, Any]:
    """Return the supported systems (other planners and compilers) by name; their readers try a file in this order."""
    from memplan.runtimes.executorch.cadence.system import SYSTEM as CADENCE
    from memplan.runtimes.executorch.planner.system import SYSTEM as EXECUTORCH
    from memplan.runtimes.executorch.system import SYSTEM as EXECUTORCH_PROGRAMS
    from memplan.runtimes.onnx.system import SYSTEM as ONNX
    from memplan.runtimes.rows import SYSTEMS
    from memplan.runtimes.tflite.system import SYSTEM as TFLITE
    from memplan.runtimes.tflm.system import SYSTEM as TFLM
    from memplan.runtimes.torch.system import SYSTEM as TORCH
    from memplan.runtimes.tvm.system import SYSTEM as TVM

    own = (TFLM, EXECUTORCH, CADENCE, TVM, EXECUTORCH_PROGRAMS, ONNX, TFLITE)
    return {row.name: row for row in (*own, *SYSTEMS, TORCH)}


def _hooks() -> Mapping[str, Any]:
    return {
        "plan-storages": "memplan.runtimes.tvm.relay_storages:plan_storages",
    }


TABLES: Mapping[str, Callable[[], Mapping[str, Any]]] = {"systems": _systems, "hooks": _hooks}
"""Maps the name of a table to the function that returns this floor's rows by name."""
