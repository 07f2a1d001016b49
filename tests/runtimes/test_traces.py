"""The converter of the lab: logs of TFLite Micro become tables of buffers."""

import pytest

from lab.traces import table
from memplan.planner.formats import read_problem

LOG = """I (321) tflm: a (id=0): size=64, offset=0, first_used=0 last_used=1
b (id=1): size=128, offset=64, first_used=1 last_used=2
b (id=1): size=128, offset=64, first_used=1 last_used=2
Planner buffer ID: 2, calculated offset: 0, size required: 64, first_time_created: 2, last_time_used: 2
"""


def test_a_tflite_micro_log_becomes_a_problem_with_its_plan() -> None:
    problem = read_problem(table(LOG).encode(), "log.csv")
    rows = [(row.id, row.start, row.end, row.size, row.offset) for row in problem.buffers]
    assert rows == [("0", 0, 2, 64, 0), ("1", 1, 3, 128, 64), ("2", 2, 3, 64, 0)]


def test_a_log_of_two_plans_is_refused() -> None:
    with pytest.raises(ValueError, match="buffer 0: must have the same offset"):
        table(f"{LOG}a (id=0): size=64, offset=64, first_used=0 last_used=1\n")
