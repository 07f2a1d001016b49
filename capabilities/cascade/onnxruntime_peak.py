"""The resident memory that a model takes in onnxruntime, as measured in a child process; its allocator has no rules."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

SESSION = """
import sys
import numpy as np
import onnxruntime as ort
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
options.intra_op_num_threads = 1
options.enable_cpu_mem_arena = options.enable_mem_pattern = False
ort.set_default_logger_severity(4)
def resident(key):
    return next(int(row.split()[1]) * 1024 for row in open("/proc/self/status") if row.startswith(key))
"""
"""The options of sessions whose memory is measured, and what reads it: the beginning of programs that do."""
_RUN = (
    SESSION
    + """
data = sys.stdin.buffer.read()
types = {"tensor(float)": "f4", "tensor(double)": "f8", "tensor(float16)": "f2", "tensor(bool)": "?",
         "tensor(int64)": "i8", "tensor(int32)": "i4", "tensor(int8)": "i1", "tensor(uint8)": "u1"}
before = resident("VmRSS")
session = ort.InferenceSession(data, options)
session.run(None, {row.name: np.zeros([n if isinstance(n, int) else 1 for n in row.shape], types[row.type])
                   for row in session.get_inputs()})
print(resident("VmHWM") - before)
"""
)


def resident_peak(data: bytes, limit_s: float) -> int | None:
    """Return by how many bytes a process grows that loads and runs a model; None where that cannot be measured in time.

    The process is ended at the limit.
    """
    if find_spec("onnxruntime") is None:
        return None
    try:
        done = subprocess.run([sys.executable, "-P", "-c", _RUN], input=data, capture_output=True, timeout=limit_s)
    except subprocess.TimeoutExpired:
        return None
    return int(done.stdout) if done.returncode == 0 and done.stdout.strip().isdigit() else None
