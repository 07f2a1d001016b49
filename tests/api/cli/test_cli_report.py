from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memplan.api.cli.report import live_bytes_chart
from memplan.capabilities.plan.answers import headline
from memplan.capabilities.plan.plan import progress
from memplan.planner.model.plan import Plan


def test_a_chart_shows_each_live_set_as_a_bar() -> None:
    title, *bars = live_bytes_chart([(0, 24), (5, 48), (9, 2)])
    assert title == "live bytes from time 0 to 9: at most 48 (48 B), at time 5"
    assert bars == [" █", " █", " █", "██", "██", "██▂"]


@given(loads=st.lists(st.integers(0, 2**62), min_size=1, max_size=300))
def test_a_chart_has_its_highest_bar_where_most_bytes_are_alive(loads: list[int]) -> None:
    title, *bars = live_bytes_chart(list(enumerate(loads))) or ("", "")
    assert (title == "") == (max(loads) == 0)
    assert all(len(bar) <= min(64, len(loads)) for bar in bars)
    if title:
        column = loads.index(max(loads)) * min(64, len(loads)) // len(loads)
        assert bars[0][column] == "█"
        assert title.endswith(f"at time {loads.index(max(loads))}")


def test_a_headline_gives_the_cost_with_its_bound_before_the_peak() -> None:
    plan = Plan(peak=96, lower_bound=64, cost=17, cost_lower_bound=16, gap=0.0625, solver="prices")
    asked = "feasible: cost 17, lower bound 16; peak 96 bytes, lower bound 64; gap 6.25%, found by prices"
    assert headline(plan) == asked


def test_a_headline_says_why_there_is_no_plan() -> None:
    assert headline(Plan(status="unknown", stop_reason="time_limit")) == "unknown: time_limit"


def test_progress_is_said_with_peak_bound_and_gap() -> None:
    event = {"peak": 1500, "lower_bound": 1000, "gap": 0.5, "solver": "greedy"}
    assert progress(event) == "best peak 1,500  bound 1,000  gap 50.00%  greedy"
    assert progress(event | {"peak": None, "gap": None, "solver": ""}).strip() == "best peak none yet  bound 1,000"
