"""Converters of the lab: traces of malloc and logs of TFLite Micro become tables of buffers."""

from __future__ import annotations

import pytest

from lab.traces import table
from memplan.planner.formats import read_problem

TRACE = "op,id,size,alignment\nmalloc,0x10,100,\nmalloc,0x20,50,64\nfree,0x10,,\nrealloc,0x20,80,\nmalloc,0x10,7,\n"
LOG = """I (321) tflm: a (id=0): size=64, offset=0, first_used=0 last_used=1
b (id=1): size=128, offset=64, first_used=1 last_used=2
b (id=1): size=128, offset=64, first_used=1 last_used=2
Planner buffer ID: 2, calculated offset: 0, size required: 64, first_time_created: 2, last_time_used: 2
"""


def test_each_malloc_call_is_a_step_and_a_reused_block_is_a_new_buffer() -> None:
    problem = read_problem(table("malloc", TRACE).encode(), "trace.csv")
    assert [(row.id, row.start, row.end, row.size, row.alignment) for row in problem.buffers] == [
        ("0x10", 0, 2, 100, 16),
        ("0x20", 1, 4, 50, 64),
        ("0x20#2", 3, 5, 80, 16),
        ("0x10#2", 4, 5, 7, 16),
    ]


def test_a_tflite_micro_log_becomes_a_problem_with_its_plan() -> None:
    problem = read_problem(table("tflm-log", LOG).encode(), "log.csv")
    assert [(row.id, row.start, row.end, row.size, row.offset) for row in problem.buffers] == [
        ("0", 0, 2, 64, 0),
        ("1", 1, 3, 128, 64),
        ("2", 2, 3, 64, 0),
    ]


@pytest.mark.parametrize("text", ["free,a,\n", "alloc,a,1\nalloc,a,1\n", "map,a,1\n"])
def test_an_impossible_call_in_a_trace_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="line"):
        table("malloc", f"op,id,size\n{text}")
