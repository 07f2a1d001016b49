"""Every format: what is written is read back the same."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan.planner.errors import FormatError, InputError
from memplan.planner.formats import FORMATS, detect, format_of_name, read_plan, read_problem
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import MAX_BYTES, MAX_TIME, MIN_TIME, Placement
from tests.support.strategies import placements, problems, tied_problems

IDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5) | st.sampled_from(
    ["a,b", 'say "hi"', " spaced ", "two\nlines", "re\rturn", "\u2028", "=1+1", "\ufeff", "null", "0"]
)


@st.composite
def tables(draw: st.DrawFn) -> Problem:
    """Draw a problem that any format can say: one pool, one lifetime a buffer."""
    rows = []
    for name in draw(st.lists(IDS, unique=True, max_size=6)):
        start = draw(st.integers(MIN_TIME, MAX_TIME - 1))
        row = {"id": name, "size": draw(st.integers(0, MAX_BYTES)), "start": start}
        row["end"] = draw(st.integers(start + 1, MAX_TIME))
        row["alignment"] = draw(st.sampled_from((1, 1, 12, 64)))
        if draw(st.integers(0, 3)) == 0:
            row["offset"] = draw(st.integers(0, MAX_BYTES))
        rows.append(row)
    return Problem.model_validate({"buffers": rows})


@pytest.mark.parametrize("name", FORMATS)
@given(problem=tables())
def test_a_problem_is_read_back_as_it_was_written(name: str, problem: Problem) -> None:
    data = FORMATS[name].write_problem(problem)
    assert read_problem(data, f"some{FORMATS[name].SUFFIX}") == problem


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data())
def test_a_plan_is_read_back_as_it_was_written(name: str, data: st.DataObject) -> None:
    problem = data.draw(problems())
    places = [place for place in data.draw(placements(problem)) if place.id in problem.index]
    plan = Plan(placements=PlacementTable.from_rows(places))
    written = FORMATS[name].write_plan(plan, problem)
    assert read_plan(written, problem, f"some{FORMATS[name].SUFFIX}") == plan


@given(problem=tied_problems())
def test_json_says_all_that_ties_buffers(problem: Problem) -> None:
    assert read_problem(FORMATS["json"].write_problem(problem)) == problem


def test_json_leaves_out_what_a_problem_does_not_say() -> None:
    rows = [{"id": "a", "size": 4, "start": 0, "end": 1}, {"id": "b", "size": 4, "start": 0, "end": 1}]
    tied = rows[1] | {"relative": {"to": "a", "offset": -8}, "no_cross": 16, "forbid_pools": ["y"]}
    pools = [{"name": "x", "bank_size": 64}, {"name": "y"}]
    data = {"buffers": [rows[0], tied], "bank": [{"buffers": ["a"], "weight": 2.5}], "pools": pools}
    assert json.loads(FORMATS["json"].write_problem(Problem.model_validate(data))) == data
    assert json.loads(FORMATS["json"].write_problem(Problem.model_validate({"buffers": rows}))) == {"buffers": rows}


@given(problem=problems())
def test_json_says_all_of_a_problem_and_a_table_says_what_it_cannot(problem: Problem) -> None:
    assert read_problem(FORMATS["json"].write_problem(problem)) == problem
    try:
        written = FORMATS["csv"].write_problem(problem)
    except FormatError:
        return
    again = FORMATS["csv"].read_problem(written)
    assert again.conflicts == problem.conflicts == ()
    for mine, other in zip(problem.buffers, again.buffers, strict=True):
        # Names of a lone pool, traffic that nothing counts, and ids as texts are all that may change.
        assert other == mine.model_copy(update={"id": str(mine.id), "pools": None, "traffic": None})


@given(data=st.binary(max_size=200), name=st.sampled_from((None, "x.json", "x.csv")))
def test_whatever_the_bytes_are_they_are_read_or_refused(data: bytes, name: str | None) -> None:
    with contextlib.suppress(InputError):
        assert isinstance(read_problem(data, name), Problem)


def test_what_is_in_a_file_counts_more_than_its_name() -> None:
    assert detect(b' {"buffers": []}', "problem.csv") == "json"
    assert detect(b"id,lower,upper,size\n", "problem.json") == "csv"
    assert detect(b"start,size\n", "PROBLEM.CSV") == "csv"
    assert detect(b"[]", "problem.json") == "json"


@pytest.mark.parametrize(
    ("data", "name", "sentence"),
    [
        (b"", "p.json", "must not be empty"),
        (b" \r\n", None, "must not be empty"),
        (b"\x7fELF\x02\x01", "a.out", "must be a file that is read here, got a compiled program"),
        (b"<!DOCTYPE html>", None, "must be a file that is read here, got a page in HTML"),
        (b"buffers:\n - 1", None, "must be a file that is read here, got YAML; convert it to JSON"),
        (b"hello", None, 'must be of a known format, got "hello"; known are '),
    ],
)
def test_a_file_of_no_known_format_is_refused(data: bytes, name: str | None, sentence: str) -> None:
    with pytest.raises(FormatError) as error:
        detect(data, name)
    assert str(error.value).startswith(sentence)


def test_the_name_of_a_file_to_write_says_its_format() -> None:
    assert format_of_name("out/plan.JSON") == "json"
    with pytest.raises(FormatError, match=r"must end in \.json or \.csv"):
        format_of_name("plan.txt")


def test_a_table_matches_ids_as_texts() -> None:
    problem = Problem.model_validate({"buffers": [{"id": 7, "size": 1, "start": 0, "end": 1}]})
    plan = FORMATS["csv"].read_plan(b"id,offset\n7,64\n", problem)
    assert list(plan.placements) == [Placement(id=7, pool="default", offset=64)]


def test_a_table_of_a_plan_may_name_buffers_that_only_the_verifier_knows_to_be_wrong() -> None:
    problem = Problem.model_validate({"buffers": []})
    plan = FORMATS["csv"].read_plan(b"id,offset\nstranger,0\n", problem)
    assert plan.placements.ids == ("stranger",)
