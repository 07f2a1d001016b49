"""Memory plans that TFLite Micro prints: ids, sizes, offsets and times of its buffers, among other lines of a log.

`GreedyMemoryPlanner::PrintMemoryPlan` prints a line for each buffer, the words of which have changed once; its times
include the last one. Prefixes of a logger do not matter. Buffers are aligned to 16 bytes; the arena's tail, which is
never reused, is not in the plan. Source: tensorflow/tflite-micro, memory_planner/greedy_memory_planner.cc.
"""

from __future__ import annotations

import re

from memplan.planner.errors import FormatError
from memplan.systems.dump import problem_of, refuse_dims, size_of
from memplan.systems.imported import Imported, ImportOptions, plan_of
from memplan.systems.recognition import TFLM_LINE

ALIGNMENT = 16
_ROW = re.compile(TFLM_LINE.pattern.decode())


def read(data: bytes, options: ImportOptions) -> Imported:
    """Read a log; raises FormatError, and OptionError for named dimensions."""
    refuse_dims(options, "TFLite Micro's logs")
    rows: dict[int, tuple[int, int, int, int]] = {}
    for number, line in enumerate(data.decode(errors="backslashreplace").splitlines(), 1):
        match = _ROW.search(line)
        if match is None:
            continue
        fields = {name: int(text) for name, text in match.groupdict().items() if text is not None}
        buffer = fields.get("id", fields.get("id_old", 0))
        row = tuple(fields.get(name, fields.get(f"{name}_old", 0)) for name in ("size", "offset", "first", "last"))
        size, offset, first, last = row
        if last < first:
            raise FormatError(f"line {number}: must be used last at its first use ({first}) or later, got {last}")
        if rows.setdefault(buffer, (size, offset, first, last)) != row:
            raise FormatError(f"line {number}: must say the same of buffer {buffer} as before: give one plan, not two")
    problem = problem_of(
        (
            {
                "id": buffer,
                "size": size_of(f"buffer {buffer}", size, options),
                "start": first,
                "end": last + 1,
                "alignment": options.alignment or ALIGNMENT,
            }
            for buffer, (size, _, first, last) in rows.items()
        ),
        ["arena"],
    )
    own_peak = max((offset + size for size, offset, _, _ in rows.values()), default=0)
    plan = plan_of(problem, {buffer: offset for buffer, (_, offset, _, _) in rows.items()})
    return Imported(problem, own_peak=own_peak, own_plan=plan)
