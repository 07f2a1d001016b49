"""Mistakes of a new set and of one before it: the answers score 4.5 of 5 in the mean, and none below 3."""

from __future__ import annotations

import json
import shlex
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import memplan
from memplan.api.cli.flags import seconds
from memplan.api.cli.main import main
from memplan.planner.errors import InputError
from memplan.planner.model.problem import Problem
from memplan.planner.operations.graph import graph_from
from tests.support.mistakes import FILES, NEW, OLD, WITH_FILES, A, B, Mistake, broken_files, text

MODELS = Path(__file__).parents[2] / "models"
LEAST, MEAN, MEAN_WITH_FILES, FULL = 3, 4.5, 4.6, 5


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Path:
    """A folder with two buffers, a model, and a plan of each."""
    monkeypatch.chdir(tmp_path)
    for name in ("two.json", "a model.json"):
        Path(name).write_text(text(A, B))
    Path("two.csv").write_text("id,lower,upper,size\na,0,3,64\nb,2,5,32\n")
    Path("pools.json").write_text(text(A, B, pools=[{"name": "fast", "size": 64}, {"name": "slow"}]))
    shutil.copy(MODELS / "recorded" / "kws_dscnn_int8.tflite", "kws.tflite")
    for name, content in FILES.items():
        Path(name).write_bytes(content)
    for problem, plan in (("two.json", "plan.json"), ("kws.tflite", "kplan.json")):
        assert main(["plan", problem, "-o", plan, "-q"]) == 0
    capfd.readouterr()
    return tmp_path


def scored(mistake: Mistake, capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Return the points of the answer to a mistake, and the answer."""
    file = next((word for word in mistake.line.split() if word.startswith("p.")), None)
    if file is not None:
        Path(file).write_text(mistake.content)
    before = sorted(path.name for path in Path().iterdir())
    status = main(shlex.split(mistake.line))
    told, said = capfd.readouterr()
    points = mistake.score(status, said) - (told != "") - (sorted(path.name for path in Path().iterdir()) != before)
    if mistake.mended:
        points -= main(shlex.split(mistake.mended)) not in (0, 1)
        capfd.readouterr()
    return points, said


def test_answers_to_mistakes_with_files_score_more(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name, content in broken_files().items():
        Path(name).write_bytes(content)
    Path("folder").mkdir()
    found = [(*scored(mistake, capfd), mistake.line, mistake.content[:60]) for mistake in WITH_FILES]
    lost = json.dumps([each for each in found if each[0] < FULL], indent=1)
    assert (len(found) >= 60, min(points for points, *_ in found) >= LEAST) == (True, True), lost
    assert sum(points for points, *_ in found) / len(found) >= MEAN_WITH_FILES, lost


@pytest.mark.parametrize("mistakes", [NEW, OLD], ids=["new", "old"])
@pytest.mark.usefixtures("here")
def test_answers_to_mistakes_say_where_what_and_what_to_do(
    mistakes: list[Mistake], capfd: pytest.CaptureFixture[str]
) -> None:
    found = [(*scored(mistake, capfd), mistake.line, mistake.content[:60]) for mistake in mistakes]
    lost = json.dumps([each for each in found if each[0] < FULL], indent=1)
    assert min(points for points, *_ in found) >= LEAST, lost
    assert sum(points for points, *_ in found) / len(found) >= MEAN, lost


TWO = Problem.model_validate({"buffers": [A, B]})
PLAN = memplan.solve(TWO)
CALLS: list[tuple[Callable[..., Any], list[Any], dict[str, Any], str]] = [
    (memplan.verify, [PLAN, TWO], {}, "problem: must be a Problem, got a Plan: verify(problem, plan)"),
    (memplan.write_plan, [TWO, PLAN], {}, "plan: must be a Plan, got a Problem: write_plan(plan, problem)"),
    (memplan.solve, [TWO], {"time_limit_s": "2s"}, 'time_limit_s: must be a number, got "2s" (did you mean 2'),
    (memplan.solve, [TWO], {"time_limit": 2}, "unexpected keyword argument 'time_limit' (did you mean time_limit_s?)"),
    (memplan.solve, ["none.json"], {}, "none.json: no such file or directory"),
    (memplan.order, ["net.onnx"], {}, "net.onnx: no such file or directory"),
    (memplan.order_operations, ["net.onnx"], {}, "read it by memplan.read_graph(path)"),
    (memplan.plan, [TWO], {"time_limt_s": 2}, "'time_limt_s' (did you mean time_limit_s?)"),
    (memplan.plan, [TWO], {"timeout": 2}, "'timeout' (did you mean time_limit_s?)"),
    (memplan.check, [TWO], {}, "check: needs a budget or a baseline: budgets=256KiB"),
    (Problem.model_validate_json, ["buffers: 3"], {}, "must be JSON: expected value at line 1 column 1, got "),
    (memplan.plan, [TWO], {"pools": []}, "'pools', which the problem says: Problem(..., pools=...)"),
    (memplan.plan, [TWO], {"capacity": 3}, "'capacity', which the problem says: problem.with_capacity(...)"),
    (memplan.plan, [TWO, memplan.PlanOptions()], {}, "(did you mean options=PlanOptions(...)?)"),
    (
        memplan.plan,
        [TWO],
        {"solver": len},
        "solver: must be the name of one, got <built-in function len>: write MODULE:",
    ),
    (memplan.solve, [TWO], {"options": {"sed": 1}}, "sed: is not a known field (did you mean seed?)"),
    (memplan.plan, [{"buffer": [A]}], {}, "buffer: is not a known field (did you mean buffers?)"),
    (memplan.plan, [TWO], {"keep": "old.json"}, "old.json: no such file or directory"),
    (memplan.Buffer, [], {"id": b"a", "size": 1}, "id: must be a non-empty string or an integer, got bytes, b'a'"),
    (memplan.write_plan, [PLAN, TWO, "plan.yaml"], {}, "plan.yaml: must end in .json or .csv"),
    (
        memplan.OrderOptions,
        [],
        {"goal": "place"},
        "goal: must be 'alive' or 'placed', got \"place\" (did you mean placed?)",
    ),
    (memplan.Problem, [], {"buffers": [("a", 64, 0, 3)]}, "buffers[0]: must be an object"),
    (memplan.Problem, [], {"buffer": [A]}, "buffer: is not a known field (did you mean buffers?)"),
    (memplan.Problem, [], {"buffers": [A], "pools": {"sram": 64}}, "pools: must be a list"),
    (memplan.plan, [TWO], {"options": {"a": 1}}, "a: is not a known field"),
    (memplan.order, [TWO], {}, "graph: must be an OperationGraph, got a Problem: order(graph)"),
    (memplan.read_problem, [5], {}, "got 5: read_problem(source)"),
    (memplan.read_problem, [b"{'buffers': []}"], {}, "in double quotes"),
    (
        TWO.with_capacity,
        ["64KiB"],
        {},
        'pools[0].size: must be an integer, got "64KiB" (did you mean 65536, in bytes?)',
    ),
    (memplan.Buffer, ["a", 64], {}, "must be given fields by name, as Buffer(id=..., size=...), got ['a', 64]"),
    (
        memplan.plan,
        [TWO],
        {"accept": 0.05},
        "accept: must have its sign where it is below 1, got 0.05 (did you mean 5%",
    ),
    (
        memplan.OrderOptions,
        [],
        {"extra_cost": "0.1"},
        'extra_cost: must have its sign where it is below 1, got "0.1" (did you mean 10% or 0.1%?)',
    ),
    (memplan.OrderOptions, [], {"timelimit": 2}, "timelimit: is not a known field (did you mean time_limit_s?)"),
    (memplan.PlanOptions, [], {"time_limit_s": "2s"}, 'time_limit_s: must be a number, got "2s"'),
    (memplan.solve, [TWO, 5], {}, "start: must be a Plan, got 5: plan(problem)"),
    (memplan.Buffer, [], {"name": "a"}, "name: is not a known field (the fields here are id, size, start"),
    (setattr, [TWO.buffers[0], "size", 3], {}, "size: must not be changed, as values are frozen: model_copy("),
    (memplan.sweep, [TWO, {"sram": 64}], {}, "sizes: must have a list for each pool, as [65536, 131072]"),
    (
        graph_from,
        [{"ops": [{"alternatives": [{"workspace": 1}]}]}],
        {},
        "workspace: is not a known field (did you mean work?)",
    ),
    (graph_from, [{"opps": []}], {}, "opps: is not a known field (did you mean ops?)"),
]


@pytest.mark.parametrize(("function", "given", "named", "sentence"), CALLS, ids=range(len(CALLS)))
def test_wrong_kinds_of_things_are_input_errors_in_python(
    function: Callable[..., Any], given: list[Any], named: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InputError) as caught:
        function(*given, **named)
    assert sentence in str(caught.value)


def test_a_wrong_attribute_of_an_answer_is_said_with_the_one_that_is_meant() -> None:
    with pytest.raises(AttributeError, match=r"'Plan' object has no attribute 'peek' \(did you mean peak\?\)"):
        PLAN.peek  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(("text", "found"), [("10", 10), ("2.5s", 2.5), ("500ms", 0.5), ("2 min", 120), (0.25, 0.25)])
def test_a_time_limit_may_have_a_unit(text: str | float, found: float) -> None:
    assert seconds(text) == found


def test_there_are_mistakes_of_eight_kinds() -> None:
    kinds = Counter(mistake.kind for mistake in NEW)
    assert (len(kinds) + 1, sum(kinds.values()) + len(CALLS) >= 60) == (8, True)
    assert len(OLD) >= 43


@pytest.mark.parametrize(
    ("content", "line", "sentence"),
    [
        ({"pools": ["sram"], "buffers": []}, "plan FILE", '(write {"name": "sram", "size": 131072})'),
        ({"buffers": []}, "plan FILE --order best", "got a file that tells no operations"),
        ({"buffers": []}, "convert FILE --to tflite", "got JSON; --to c writes its plan"),
        ({"size": [1], "ops": [{"in": [0]}]}, "schedule FILE", "examples/schedules has some"),
        ({"size": [1], "ops": [{"in": [0]}]}, "schedule FILE --target FILE", "target: must be a machine"),
    ],
)
def test_what_is_meant_by_another_kind_of_file_is_said(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], content: dict[str, Any], line: str, sentence: str
) -> None:
    (tmp_path / "file.json").write_text(json.dumps(content))
    assert main(line.replace("FILE", str(tmp_path / "file.json")).split()) == 2
    assert sentence in capfd.readouterr().err


@pytest.mark.parametrize(("of", "wrong"), [(TWO.buffers, "a"), (memplan.solve(TWO).placements, "a")])
def test_rows_are_not_taken_by_name(of: Any, wrong: str) -> None:
    with pytest.raises(TypeError, match=r"plan\[name\]"):
        of[wrong]


def test_rows_are_not_changed_in_place() -> None:
    with pytest.raises(AttributeError, match="append: rows must not be changed, as values are frozen"):
        TWO.buffers.append(TWO.buffers[0])  # type: ignore[attr-defined]


def test_a_name_that_memplan_does_not_have_is_told() -> None:
    with pytest.raises(AttributeError, match="did you mean plan"):
        getattr(memplan, "plann")  # noqa: B009
