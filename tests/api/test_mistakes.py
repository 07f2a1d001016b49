"""Each mistake in `mistakes.txt` gets an error that states location, value, rule and remedy on every entrance."""

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import httpx
import pytest

import memplan
from memplan.api.cli.flag_names import flags_of
from memplan.api.cli.flags import seconds
from memplan.api.cli.main import main
from memplan.planner.errors import InputError
from memplan.programs.operations.graph import graph_from
from memplan.questions.plan.plan import PlanOptions
from memplan.questions.reading import ReadOptions
from tests.support.mistakes import FILES, MISTAKES, Mistake, faulty_files
from tests.support.server import RunningServer

MODELS = Path(__file__).parents[1] / "models"
A = {"id": "a", "size": 64, "start": 0, "end": 3}
B = {"id": "b", "size": 32, "start": 2, "end": 5}
POOLS = [{"name": "fast", "size": 64}, {"name": "slow"}]
TWO = memplan.Problem.model_validate({"buffers": [A, B]})
PLAN = memplan.solve(TWO)
MEAN = 4.5
TITLES = {400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed"}
TITLES |= {415: "Unsupported Media Type", 422: "Unprocessable Content"}
REQUESTS = [each for each in MISTAKES if each.kind.startswith("http:")]
CALLS = [each for each in MISTAKES if each.kind.startswith("python:")]
COMMANDS = [each for each in MISTAKES if each not in (*REQUESTS, *CALLS)]
PROBLEMS = [each for each in COMMANDS if each.line == "plan p.json" and not each.status]
PROBLEMS = [each for each in PROBLEMS if each.value not in ("got none", "got a list")]
OPTIONS = {flags_of(name)[0]: name for model in (PlanOptions, ReadOptions) for name in model.model_fields}
OF_COMMANDS = (
    *("valid integer", "requires an argument", "must be seconds", "only to models", "must be greater than 0.0"),
    *("must be a function", "must be in a module", "applies only to a model"),
)
"""Rules of command lines only: click checks them, or requests lack the option."""


@pytest.fixture
def sample_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("two.json", "a model.json"):
        Path(name).write_text(json.dumps({"buffers": [A, B]}))
    Path("two.csv").write_text("id,lower,upper,size\na,0,3,64\nb,2,5,32\n")
    Path("pools.json").write_text(json.dumps({"buffers": [A, B], "pools": POOLS}))
    shutil.copy(MODELS / "recorded" / "kws_dscnn_int8.tflite", "kws.tflite")
    for name, content in (FILES | faulty_files()).items():
        Path(name).write_bytes(content)
    Path("folder").mkdir()
    for problem, plan in (("two.json", "plan.json"), ("kws.tflite", "kplan.json")):
        assert main(["plan", problem, "-o", plan, "-q"]) == 0
    capfd.readouterr()
    return tmp_path


@pytest.mark.usefixtures("sample_folder")
def test_command_errors_state_location_reason_and_remedy(capfd: pytest.CaptureFixture[str]) -> None:
    wrong = []
    for each in COMMANDS:
        file = next((word for word in each.line.split() if word.startswith("p.")), None)
        if file is not None:
            Path(file).write_text(each.content)
        before = sorted(path.name for path in Path().iterdir())
        status = main(shlex.split(each.line))
        out, said = capfd.readouterr()
        refuses = status == int(each.status or 2) and "Traceback" not in said and 0 < said.count("\n") <= 8
        if (
            not refuses
            or (out and status == 2)
            or each.lacking(said)
            or sorted(path.name for path in Path().iterdir()) != before
        ):
            wrong.append((each.line, status, each.lacking(said), out, said))
        if each.mended and main(shlex.split(each.mended)) not in (0, 1):
            wrong.append((each.line, status, each.lacking(said), out, said))
        capfd.readouterr()
    assert not wrong, json.dumps(wrong, indent=1)


def test_request_errors_state_location_reason_and_remedy(server: RunningServer) -> None:
    wrong = []
    for each in REQUESTS:
        method, *media, path = each.line.split()
        headers = {"content-type": media[0].replace(";", "; ") if media else "application/json"}
        answer = server.client.request(method, path, content=each.content.encode(), headers=headers)
        if (answer.status_code, each.lacking(sentences_of(answer))) != (int(each.status or 422), []):
            wrong.append((each.line, answer.status_code, each.lacking(sentences_of(answer)), answer.json()))
        if each.mended:
            method, *media, path = each.mended.split()
            headers = {"content-type": media[0] if media else "application/json"}
            mended = server.client.request(method, path, content=each.content.encode(), headers=headers)
            if mended.status_code != 200:
                wrong.append((each.mended, mended.status_code, [], mended.text))
    assert not wrong, json.dumps(wrong, indent=1)


def sentences_of(answer: httpx.Response) -> str:
    problem = answer.json()
    status = answer.status_code
    head = {"type": "about:blank", "title": TITLES[status], "status": status, "detail": problem["errors"][0]}
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem == head | {name: problem[name] for name in ("errors", "hints") if name in problem}
    return "\n".join([*problem["errors"], *problem.get("hints", ())])


@pytest.mark.parametrize("each", CALLS, ids=range(len(CALLS)))
def test_python_errors_state_location_reason_and_remedy(each: Mistake) -> None:
    names = {"memplan": memplan, "graph_from": graph_from, "A": A, "TWO": TWO, "PLAN": PLAN}
    with pytest.raises(InputError) as caught:
        eval(each.line, names)
    assert each.lacking(str(caught.value)) == [], caught.value


@pytest.mark.usefixtures("sample_folder")
def test_a_wrong_problem_gets_the_same_error_in_requests_and_in_python(server: RunningServer) -> None:
    for each in PROBLEMS:
        Path("p.json").write_text(each.content)
        headers = {"content-type": "application/json"}
        answer = server.client.post("/v1/plan", content=each.content.encode(), headers=headers)
        assert answer.status_code in (400, 422), each
        with pytest.raises(InputError) as caught:
            memplan.read_problem("p.json")
        for said in (sentences_of(answer), "\n".join([str(caught.value), *caught.value.__notes__])):
            assert each._replace(where=each.where.removeprefix("p.json").lstrip(": ")).lacking(said) == [], said


def test_a_wrong_option_gets_the_same_error_as_a_flag_and_in_a_request(server: RunningServer) -> None:
    tried = 0
    for each in COMMANDS:
        command, *words = shlex.split(each.line)
        flags = dict(zip(words[1::2], words[2::2], strict=False))
        is_of_all = each.rule and not any(rule in each.rule for rule in OF_COMMANDS)
        if (command, words[:1]) != ("plan", ["two.json"]) or not is_of_all or not flags or flags.keys() - OPTIONS:
            continue
        query = {OPTIONS[flag]: value for flag, value in flags.items()}
        answer = server.client.post("/v1/plan", params=query, json={"buffers": [A, B]})
        where = next(iter(query))
        said = sentences_of(answer)
        assert (answer.status_code, each._replace(where=where, way="").lacking(said)) == (422, []), (each, said)
        tried += 1
    assert tried > 9


def test_error_messages_average_at_least_4_5_points_on_the_rubric() -> None:
    kinds = {each.kind.partition(":")[0] for each in MISTAKES}
    of_kind = {kind: [each for each in MISTAKES if each.kind.startswith(kind)] for kind in kinds}
    assert {kind for kind, rows in of_kind.items() if len(rows) < 39} == set()
    for kind in kinds - {"http", "python", "refused"}:
        points = [1 + sum(map(bool, each.words)) for each in of_kind[kind]]
        assert sum(points) / len(points) >= MEAN, kind


def test_a_misspelt_attribute_of_an_answer_is_reported_with_a_suggestion() -> None:
    with pytest.raises(AttributeError, match=r"'Plan' object has no attribute 'peek' \(did you mean peak\?\)"):
        PLAN.peek  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(("text", "found"), [("10", 10), ("2.5s", 2.5), ("500ms", 0.5), ("2 min", 120), (0.25, 0.25)])
def test_the_flag_time_limit_accepts_a_unit(text: str | float, found: float) -> None:
    assert seconds(text) == found


@pytest.mark.parametrize(("of", "wrong"), [(TWO.buffers, "a"), (PLAN.placements, "a")])
def test_indexing_rows_by_name_is_refused_with_a_hint(of: Any, wrong: str) -> None:
    with pytest.raises(TypeError, match=r"plan\[name\]"):
        of[wrong]


def test_rows_of_a_problem_are_immutable() -> None:
    with pytest.raises(AttributeError, match="append: rows must not be changed, because values are frozen"):
        TWO.buffers.append(TWO.buffers[0])  # type: ignore[attr-defined]


def test_an_unknown_attribute_of_the_package_is_reported_with_a_suggestion() -> None:
    with pytest.raises(AttributeError, match="did you mean plan"):
        getattr(memplan, "plann")  # noqa: B009
