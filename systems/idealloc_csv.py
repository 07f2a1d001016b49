"""Tables of idealloc's format IN-CSV: as google/minimalloc's, but a lifetime includes its last step.

Its other table format, EX-CSV, is read as any table is. Only the name of a file (`….in.csv`) can distinguish them. A
column `offset` is what an allocator found, and is not read. Source: coreba/src/helpe.rs of cappadokes/idealloc.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from memplan.planner.errors import ProblemError
from memplan.planner.formats.minimalloc_csv import table_of
from memplan.planner.formats.sheet import Layout, read_sheet
from memplan.planner.model.buffer_table import ABSENT, column
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import MAX_TIME
from memplan.systems.dump import aligned, refuse_dims
from memplan.systems.imported import Imported, ImportOptions, plan_of

_FIELDS = ("id", "lower", "upper", "size", "alignment", "offset")
_LAYOUT = Layout(
    {name: {"lower": "start", "upper": "end"}.get(name, name) for name in _FIELDS},
    required=("id", "lower", "upper", "size"),
    texts=("id",),
    numbers={"start": None, "end": None, "size": None, "alignment": 1, "offset": ABSENT},
)


def read(data: bytes, options: ImportOptions) -> Imported:
    """Read a table; raises FormatError, ProblemError for wrong cells, and OptionError for named dimensions."""
    refuse_dims(options, "tables")
    sheet = read_sheet(data, _LAYOUT, ProblemError)
    start, last = sheet.numbers["start"], sheet.numbers["end"]
    breaks = [
        (i, "end", f"must be at least the first step ({start[i]}), got {last[i]}")
        for i in np.flatnonzero(last < start).tolist()
    ]
    breaks += [(i, "end", f"must be less than {MAX_TIME}") for i in np.flatnonzero(last == MAX_TIME).tolist()]
    if breaks:
        raise ProblemError(*sheet.sentences(breaks))
    table = table_of(replace(sheet, numbers={**sheet.numbers, "end": column(last + 1)}))
    ends = [offset + size for offset, size in zip(table.offset.tolist(), table.size.tolist(), strict=True)]
    own_peak = None if (table.offset == ABSENT).any() else max(ends, default=None)
    free = replace(table, offset=column(np.full(len(table), ABSENT)))
    problem = Problem(buffers=aligned(free, options))
    offsets = dict(zip(table.ids, table.offset.tolist(), strict=True))
    return Imported(problem, own_peak=own_peak, own_plan=None if own_peak is None else plan_of(problem, offsets))
