"""TFLite Micro's arena as its runtime measures it, in a child process, as runtimes abort on what they lack."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec

_RUN = """
import sys
from tflite_micro import runtime
data = sys.stdin.buffer.read()
runtime.Interpreter.from_bytes(data, arena_size=int(sys.argv[1])).print_allocations()
"""
_LIMIT_S = 30.0


def measured(data: bytes, arena_size: int) -> str:
    """Return what the runtime says of a model that it starts in an arena of so many bytes, as a part of a sentence."""
    if find_spec("tflite_micro") is None:
        return "by its rules, as tflite_micro is not installed"
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _RUN, str(arena_size)], input=data, capture_output=True, timeout=_LIMIT_S
        )
    except subprocess.TimeoutExpired:
        return f"tflite_micro did not start it within {_LIMIT_S:.0f} s"
    output = (done.stdout + done.stderr).decode(errors="replace")
    parts = {part: re.search(rf"Arena allocation {part} (\d+)", output) for part in ("total", "head", "tail")}
    total, head, tail = (parts[part] for part in ("total", "head", "tail"))
    if total is None or head is None or tail is None:
        reasons = [line for line in output.splitlines() if re.search("fail|support|find op", line, re.IGNORECASE)]
        return f"tflite_micro does not start it: {(reasons or ['no reason given'])[0].strip()[:150]}"
    return f"measured by tflite_micro: {int(total[1]):,} bytes (head {int(head[1]):,}, tail {int(tail[1]):,})"
