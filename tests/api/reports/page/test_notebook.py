"""Plans in notebooks: a frame with the page, and columns."""

from __future__ import annotations

import gc
import pickle
from importlib.util import find_spec

import pytest

from memplan import Buffer, Plan, Problem, read_plan, solve
from memplan.planner.errors import OptionError
from memplan.planner.model.plan import _PROBLEMS, problem_of

PROBLEM = Problem(
    buffers=[
        Buffer(id='</iframe>"<b>', size=64, start=0, end=3),
        Buffer(id=2, size=48, lifetimes=((2, 5), (7, 8))),
        Buffer(id="always", size=16),
    ]
)


def test_columns_tell_sizes_and_times_where_the_problem_is_known() -> None:
    plan = solve(PROBLEM)
    columns = plan.to_columns()
    assert columns["id"] == [buffer.id for buffer in PROBLEM.buffers]
    assert columns["size"].tolist() == [64, 48, 16]
    assert (columns["start"], columns["end"]) == ([0, 2, None], [3, 8, None])
    alone = Plan.model_validate(plan.model_dump(mode="json"))
    assert sorted(alone.to_columns()) == ["id", "offset", "pool"]
    assert alone._repr_html_() is None
    assert problem_of(read_plan(plan.model_dump_json().encode(), PROBLEM)) is PROBLEM


def test_a_plan_is_compared_and_pickled_without_its_problem() -> None:
    plan = solve(PROBLEM)
    assert plan == Plan.model_validate(plan.model_dump(mode="json"))
    assert problem_of(pickle.loads(pickle.dumps(plan))) is None


def test_the_problem_goes_when_the_plan_goes() -> None:
    plan = solve(PROBLEM)
    key = id(plan)
    assert key in _PROBLEMS
    del plan
    gc.collect()
    assert key not in _PROBLEMS


def test_a_data_frame_needs_pandas_and_says_so() -> None:
    plan = solve(PROBLEM)
    if find_spec("pandas") is None:
        with pytest.raises(
            OptionError, match="to_dataframe: needs pandas: pip install pandas; to_columns does without"
        ):
            plan.to_dataframe()
    else:
        assert list(plan.to_dataframe().columns) == ["id", "pool", "offset", "size", "start", "end"]
