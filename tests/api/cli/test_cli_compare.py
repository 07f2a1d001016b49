"""`memplan compare`, places that are kept, and differences from a baseline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memplan.api.cli.main import main
from tests.support.dump_files import DUMPS
from tests.support.tflite_files import INT8, model, operator, subgraph, tensor

MODELS = Path(__file__).parents[2] / "models"
Captured = pytest.CaptureFixture[str]


def wide_then_narrow() -> bytes:
    """Return a model that the greedy of TFLite Micro plans with more bytes than it needs, and that has a view."""
    sizes = (32, 32, 96, 64, 160, 64, 64)
    tensors = [tensor(f"t{k}", (size,), INT8) for k, size in enumerate(sizes)]
    operators = [operator("RELU", [k], [k + 1]) for k in range(5)]
    return model(subgraph(tensors, [0], [6], [*operators, operator("RESHAPE", [5], [6])]))


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "model.tflite"
    path.write_bytes(wide_then_narrow())
    return str(path)


def compared(capfd: Captured, *arguments: str) -> Any:
    assert main(["compare", *arguments]) == 0
    return json.loads(capfd.readouterr().out)


def test_a_model_without_a_plan_is_compared_with_its_runtimes_planner(file: str, capfd: Captured) -> None:
    found = compared(capfd, file)
    assert (found["format"], found["nothing_shared"]) == ("tflite", 512)
    assert found["own"]["name"] == "reference:tflite-micro-greedy"
    assert found["memplan"]["peak"] == found["memplan"]["lower_bound"] == 224
    assert found["memplan_with_views"]["buffers"] == 7
    assert found["views"] == {"aliases": 1, "alias_bytes": 64, "apart": 0, "apart_bytes": 0}
    assert found["saved"] == found["own"]["peak"] - 224
    audited = found["own_audit"]
    assert (audited["valid"], audited["peak"], audited["best"]) == (True, found["own"]["peak"], 224)
    assert (audited["too_much_bytes"], audited["pools"][0]["above_line"], audited["fewest_moves"]["count"]) == (
        0,
        [],
        0,
    )


def test_a_plan_in_the_file_counts_as_its_own(tmp_path: Path, capfd: Captured) -> None:
    path = tmp_path / "planned.tflite"
    graph = subgraph([tensor("x", (16,), INT8), tensor("y", (16,), INT8)], [0], [1], [operator("RELU", [0], [1])])
    path.write_bytes(model(graph, offline_plan=(0, 1, 2, 0, 48)))
    found = compared(capfd, str(path))
    assert found["own"] == {"name": "the plan in the file", "peak": 64, "message": None}
    assert (found["saved"], found["saved_percent"]) == (32, 50.0)
    audited = found["own_audit"]
    moves = audited["fewest_moves"]
    assert (audited["valid"], audited["too_much_bytes"], moves["count"], moves["proved"]) == (True, 32, 1, True)


def test_a_compilers_dump_is_compared_with_the_compilers_layout(capfd: Captured) -> None:
    found = compared(capfd, str(DUMPS / "densenet121.iree.txt"))
    assert (found["format"], found["own"]["peak"]) == ("iree", 9_416_320)
    assert (found["memplan"]["status"], found["memplan"]["peak"]) == ("optimal", 7_810_688)


def test_people_get_a_line_a_fact(file: str, capfd: Captured) -> None:
    assert main(["compare", file, "--format", "table", "--views", "separate"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.rsplit("  ", 2)[0].split("  ")[0] for line in lines] == [
        "nothing shared",
        "reference:tflite-micro-greedy",
        "memplan",
        "lower bound",
        "saved",
        "memplan, reordered",
    ]
    assert lines[2].split()[1:] == ["224", "optimal"]


def test_a_format_whose_planner_is_not_known_is_compared_with_no_planner(tmp_path: Path, capfd: Captured) -> None:
    pytest.importorskip("onnx", reason="needs the extra onnx")
    from tests.support.onnx_models import choice

    path = tmp_path / "model.onnx"
    path.write_bytes(choice())
    found = compared(capfd, str(path), "--alignment", "1")
    assert found["own"] is None
    assert found["saved"] == found["nothing_shared"] - found["memplan_with_views"]["peak"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--dim", "a=1", "--dim", "a=2"], 'dim: must be given once for each name, got "a" again'),
        (["--dim", "batch=1"], '{file}: dim: must not be given, as TFLite names no dimensions, got "batch"'),
    ],
)
def test_wrong_options_are_said(file: str, capfd: Captured, arguments: list[str], sentence: str) -> None:
    assert main(["compare", file, *arguments]) == 2
    assert capfd.readouterr().err.startswith(f"memplan: error: {sentence.replace('{file}', file)}")


def test_what_is_read_of_a_file_is_printed(file: str, capfd: Captured) -> None:
    assert main(["convert", file, "--program"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["format"], len(found["problem"]["buffers"]), found["plan"]) == ("tflite", 7, None)
    assert len(found["names"]["roles"]) == 7
    assert main(["convert", file, "--format", "table"]) == 0
    assert capfd.readouterr().out == "tflite: 7 buffers, 1 pool\n"
    assert main(["convert", str(Path(file).with_name("none"))]) == 2


def test_a_model_is_converted_to_the_problem_that_it_poses(file: str, tmp_path: Path, capfd: Captured) -> None:
    target = tmp_path / "problem.csv"
    assert main(["convert", file, "-o", str(target), "--views", "separate"]) == 0
    assert target.read_text().splitlines()[1] == "main/t0,-1,1,32,16"
    assert "1 views are buffers of their own, of 64 B" in capfd.readouterr().err
    assert main(["convert", str(target), "-o", "-", "--views", "separate"]) == 2
    assert "must be given for models only (" in capfd.readouterr().err


def test_a_models_operations_are_read_by_liveness(file: str, tmp_path: Path, capfd: Captured) -> None:
    target = tmp_path / "operations.json"
    assert main(["convert", file, "-o", str(target), "--to", "operations", "-q"]) == 0
    assert main(["liveness", str(target), "-q"]) == 0
    assert json.loads(capfd.readouterr().out)["workspace"]["live_bytes"] == 224
    problem = tmp_path / "problem.json"
    assert main(["convert", file, "-o", str(problem), "-q"]) == 0
    assert main(["convert", str(problem), "-o", "-", "--to", "operations"]) == 2


def test_plan_reads_a_model_as_compare_does(file: str, tmp_path: Path, capfd: Captured) -> None:
    for options in ([], ["--alignment", "1"], ["--views", "separate"]):
        asked = compared(capfd, file, *options)
        assert main(["plan", file, *options, "-o", str(tmp_path / "plan.json"), "--deterministic", "-q"]) == 0
        assert json.loads((tmp_path / "plan.json").read_text())["peak"] == asked["memplan"]["peak"]
        assert main(["verify", file, str(tmp_path / "plan.json"), *options, "--again", "-q"]) == 0
        assert json.loads(capfd.readouterr().out)["again"]["same"] == "bytes"
    (tmp_path / "a.json").write_text('{"buffers": []}')
    assert main(["plan", str(tmp_path / "a.json"), "--dim", "batch=1"]) == 2
    assert "dim: must be given for models only" in capfd.readouterr().err


def test_a_model_with_branches_is_compared_with_what_its_runtime_takes_of_the_file(capfd: Captured) -> None:
    found = compared(capfd, str(MODELS / "choice.tflite"))
    assert found["own"] == {"name": "reference:tflite-micro-greedy", "peak": 80, "message": None}
    assert (found["memplan"]["peak"], found["memplan_reordered"]["peak"], found["saved"]) == (48, 48, 32)


OLD = "id,lower,upper,size,offset\na,0,4,8,0\nb,0,4,8,8\nc,4,6,8,0\n"
NEW = "id,lower,upper,size\na,0,4,8\nb,0,5,8\nc,4,6,8\nd,0,4,8\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "old.csv").write_text(OLD)
    (tmp_path / "new.csv").write_text(NEW)
    return tmp_path


def test_a_kept_plan_moves_what_it_must_and_says_so(files: Path, capfd: Captured) -> None:
    assert main(["plan", str(files / "new.csv"), "--keep", str(files / "old.csv"), "-o", str(files / "new.json")]) == 0
    told = json.loads((files / "new.json").read_text())
    assert [row["offset"] for row in told["placements"]] == [0, 8, 0, 16]
    assert told["kept"] == {
        "eps": 0.02,
        "least": "buffers",
        "stayed": 3,
        "moved": 0,
        "moved_bytes": 0,
        "least_moves": 0,
        "proved": True,
        "peak_without_keeping": 24,
    }
    assert "0 of 3 buffers moved, 0 bytes; proved to be the fewest" in capfd.readouterr().err


def test_the_problem_of_a_plan_alone_comes_beside_it(files: Path, capfd: Captured) -> None:
    plan = str(files / "old.json")
    assert main(["plan", str(files / "old.csv"), "-o", plan, "-q"]) == 0
    alone = ["check", plan, "--baseline", plan, "--differences", "--format", "json", "-q"]
    assert main(alone) == 0
    told = json.loads(capfd.readouterr().out)
    assert (told["pools"], told["difference"]["growth"], told["difference"]["stayed"]) == ([], None, 3)
    page = ["-o", str(files / "page.html")]
    assert main([*alone, *page]) == 2
    assert "page: needs the problem of" in capfd.readouterr().err
    assert main([*alone, "--budget", "8"]) == 2
    assert "problem: is required for budgets" in capfd.readouterr().err
    its = ["--plan", plan, "--baseline", plan, "--baseline-problem", str(files / "old.csv")]
    assert main(["check", str(files / "old.csv"), *its, *page, "--format", "json", "-q"]) == 0
    assert json.loads(capfd.readouterr().out)["difference"]["growth"]["default"]["causes"] == []
    assert b"<html" in (files / "page.html").read_bytes()


def test_options_of_the_solve_hold_for_the_best_peak(files: Path) -> None:
    problem, old, made = str(files / "new.csv"), str(files / "old.csv"), files / "new.json"
    command = ["plan", problem, "--keep", old, "-o", str(made), "--solver", "exact", "--deterministic", "-q"]
    assert main(command) == 0
    told = json.loads(made.read_text())
    assert (told["kept"]["moved"], told["reproducible"], told["wall_time_s"]) == (0, True, None)
    assert main(["plan", problem, "--keep", old, "--capacity", "40", "--accept", "fit", "-o", str(made), "-q"]) == 0
    assert json.loads(made.read_text())["kept"]["moved"] == 0


def test_an_old_plan_that_is_none_is_wrong_input(files: Path, capfd: Captured) -> None:
    (files / "bad.json").write_text('{"placements": [{"id": "a"}]}')
    assert main(["plan", str(files / "new.csv"), "--keep", str(files / "bad.json")]) == 2
    assert "bad.json" in capfd.readouterr().err
