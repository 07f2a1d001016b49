"""The package `memplan`: its exported names, and the files that its functions read."""

import inspect
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import memplan
from memplan import Buffer, FileError, InputError, OptionError, Pool, Problem, solve
from memplan.questions import QUESTIONS, question_rows

ROOT = Path(__file__).parents[2]
EXAMPLES, MODEL = ROOT / "examples", ROOT / "tests" / "models" / "view.tflite"
GRAPH = {"size": [8, 4, 2], "ops": [{"out": [0]}, {"in": [0], "out": [1]}, {"in": [1], "out": [2]}]}
SUBJECTS: dict[str, list[Any]] = {
    **{name: [EXAMPLES / "mobilenet_v2.csv"] for name in ("plan", "explain", "certify")},
    **{name: [GRAPH] for name in ("order", "cascade")},
    **{name: [MODEL] for name in ("compare", "convert")},
    "verify": [EXAMPLES / "two_memories.json", {"placements": []}],
    "check": [EXAMPLES / "mobilenet_v2.csv", None, {"pools": [{"name": "default", "used": 10**8}], "placements": []}],
    "sweep": [EXAMPLES / "mobilenet_v2.csv", {"default": [2**22]}],
    "schedule": [EXAMPLES / "networks" / "two_convolutions.json", EXAMPLES / "schedules" / "gap8_like.json"],
    "liveness": [EXAMPLES / "operations.json"],
    "shapes": [next((EXAMPLES / "symbolic").glob("*.json"))],
}
"""Arguments for each question: file paths or JSON objects."""


def test_memplan_exports_all_questions_and_refuses_unknown_names() -> None:
    offered = {*question_rows(), "Buffer", "Plan", "Pool", "Problem", "solve", "read_problem", "write_plan"}
    assert offered <= {*memplan.__all__}
    assert {f"{name.capitalize()}Options" for name in question_rows()} <= offered | {*memplan.__all__}
    assert {*memplan.__all__} <= {*dir(memplan)}
    with pytest.raises(AttributeError, match="module 'memplan' has no attribute 'planned'"):
        memplan.planned  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("name", dir(memplan))
def test_each_public_name_exists_is_documented_and_survives_pickling(name: str) -> None:
    value = getattr(memplan, name)
    if name != "__version__":
        assert pickle.loads(pickle.dumps(value)) is value
        assert (inspect.getdoc(value) or "").endswith((".", "```"))


def test_importing_memplan_loads_numpy_and_pydantic_only_on_first_use() -> None:
    program = (
        "import sys; import memplan; before = {*sys.modules}; memplan.Problem;"
        "print(*sorted({'numpy', 'pydantic', 'memplan.planner.model'} & before), end=';');"
        "print(*(name for name in ('fastapi', 'memplan.solvers') if name in sys.modules), end='')"
    )
    assert subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout == ";"


def test_solve_has_an_explicit_signature() -> None:
    parameters = inspect.signature(memplan.solve).parameters
    assert next(iter(parameters)) == "problem"
    assert {"time_limit_s", "solver", "accept", "seed", "control"} <= parameters.keys()


@pytest.mark.parametrize("name", question_rows())
def test_each_question_accepts_paths_or_objects_and_options_as_keywords_or_object(name: str) -> None:
    ask, options = getattr(memplan, name), getattr(memplan, f"{name.capitalize()}Options")
    fields = {"time_limit_s": 2.0, **({"to": "c"} if name == "convert" else {})}
    for given in (fields, {"options": options(**fields)}, {"options": fields}, {**fields, "options": options()}):
        assert isinstance(ask(*SUBJECTS[name], **given), QUESTIONS[name].answers), name


@pytest.mark.parametrize("name", ["solve", *question_rows()])
def test_help_of_a_question_lists_each_option_without_internal_names(name: str) -> None:
    text, signature = str(inspect.getdoc(getattr(memplan, name))), inspect.signature(getattr(memplan, name))
    assert not {"Deadline", "array", "Event", "object at"} & set(re.findall(r"\w+(?: at)?", str(signature)))
    fields = {} if name == "solve" else QUESTIONS[name].options.model_fields
    assert all(f"\n    {field}: {about.description}" in text for field, about in fields.items())
    assert not {"FieldInfo", "Validator", "Annotated"} & set(re.findall(r"\w+", text))
    assert fields.keys() <= signature.parameters.keys()


def test_planning_a_buffer_without_a_lifetime_issues_a_python_warning() -> None:
    problem = Problem(buffers=[Buffer(id="a", size=3)])
    for ask in (memplan.plan, memplan.solve):
        with pytest.warns(UserWarning, match='buffer "a": has no lifetime and no conflict'):
            ask(problem)


PROBLEM = Problem(buffers=[Buffer(id=name, size=64, start=0, end=2) for name in ("a", "b")])
PLAN = solve(PROBLEM)


@pytest.mark.parametrize("name", ["problem.json", "problem.csv"])
def test_a_written_problem_is_read_back(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    data = memplan.write_problem(PROBLEM, path)
    assert path.read_bytes() == data
    assert PROBLEM == memplan.read_problem(path) == memplan.read_problem(str(path)) == memplan.read_problem(data)
    written = memplan.write_plan(PLAN, PROBLEM, tmp_path / f"plan-of-{name}")
    assert memplan.read_plan(tmp_path / f"plan-of-{name}", PROBLEM).placements == PLAN.placements
    assert memplan.read_plan(written, PROBLEM).placements == PLAN.placements


def test_the_default_format_is_json_unless_named_or_given_by_the_file_extension(tmp_path: Path) -> None:
    assert memplan.write_problem(PROBLEM).startswith(b'{"buffers"')
    assert memplan.write_problem(PROBLEM, tmp_path / "problem.txt", format="csv").startswith(b"id,lower")
    assert memplan.write_plan(PLAN, PROBLEM, format="csv").splitlines()[0] == b"id,lower,upper,size,offset"
    assert memplan.read_plan(memplan.write_plan(PLAN, PROBLEM), PROBLEM) == PLAN


def test_read_problem_accepts_tflite_models() -> None:
    assert len(memplan.read_problem(Path(__file__).parents[1] / "models" / "view.tflite").buffers) > 0


@pytest.mark.parametrize(
    ("source", "kind", "sentence"),
    [
        ("missing.json", FileError, "missing.json: no such file or directory"),
        (Path(), FileError, ".: is a directory"),
        ("a\0b", FileError, "a\0b: embedded null byte"),
        ('{"buffers": []}', InputError, "source: must be bytes or a path, got a str that is not a path: "),
        (5, InputError, "source: must be bytes or a string or a path, got 5"),
        (b"", InputError, "must not be empty"),
        (b'{"buffers": [{"id": "a", "size": -1}]}', InputError, "buffers[0].size: must be at least 0, got -1"),
    ],
)
def test_unreadable_files_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Any, kind: type[InputError], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind) as caught:
        memplan.read_problem(source)
    assert str(caught.value).startswith(sentence)


def test_errors_in_a_file_are_reported_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "wrong.csv"
    path.write_text("id,lower,upper,size\na,5,1,4\n")
    with pytest.raises(InputError) as caught:
        memplan.read_problem(path)
    assert caught.value.sentences == (f"{path}: line 2, column 'upper': must be greater than start (5), got 1",)


def test_a_failed_write_is_reported_and_preserves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "problem.csv"
    path.write_bytes(b"before")
    beyond = Problem(buffers=PROBLEM.buffers, pools=(Pool(size=5),))
    with pytest.raises(InputError, match=r"pools\[0\].size: cannot be written to a table"):
        memplan.write_problem(beyond, path)
    with pytest.raises(OptionError, match='format: must be json or csv, got "xml"'):
        memplan.write_plan(PLAN, PROBLEM, path, format="xml")
    with pytest.raises(InputError, match=r"must end in .json or .csv"):
        memplan.write_problem(PROBLEM, tmp_path / "problem.txt")
    with pytest.raises(FileError, match="no such file or directory"):
        memplan.write_problem(PROBLEM, tmp_path / "nowhere" / "problem.json")
    assert path.read_bytes() == b"before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["problem.csv"]
