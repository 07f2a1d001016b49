"""`memplan convert`, and models that commands write for a runtime."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
from memplan_models.tflite.tflm_tail import arena_of

from memplan.api.cli.main import main
from memplan.capabilities.convert.options import Target
from memplan.systems.reading import read_model
from memplan.systems.writing import EXPORTERS
from tests.support.tflite_files import two_halves

Captured = pytest.CaptureFixture[str]
VIEW = str(Path(__file__).parents[2] / "models" / "view.tflite")
ROWS = "id,lower,upper,size\na,0,2,16\nb,1,3,16\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    problem, plan = tmp_path / "problem.csv", tmp_path / "plan.csv"
    problem.write_text(ROWS)
    plan.write_text("id,offset\na,0\nb,16\n")
    return str(problem), str(plan)


def test_every_exporter_can_be_asked_for() -> None:
    assert get_args(Target) == ("json", "csv", "graph", "operations", "objects", "lp", "mps", *EXPORTERS)


def test_a_header_is_written_beside_a_source(files: tuple[str, str], tmp_path: Path) -> None:
    assert main(["convert", *files, "--to", "c", "-o", str(tmp_path / "arena.c")]) == 0
    assert '#include "arena.h"' in (tmp_path / "arena.c").read_text()
    assert "#define ARENA_OFFSET_b 16u" in (tmp_path / "arena.h").read_text()


def test_one_file_goes_to_standard_output_too(files: tuple[str, str], capfd: Captured) -> None:
    assert main(["convert", *files, "--to", "triples", "-o", "-", "--quiet"]) == 0
    out, err = capfd.readouterr()
    assert (json.loads(out), err) == ([["a", "default", 0], ["b", "default", 16]], "")


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("-", "must be a file for malloc-c, which is several, got -"),
        ("arena.o", 'must end in .h or .c for malloc-c, got "arena.o"'),
        ('are"na.c', "must have a name that C can include, got"),
    ],
)
def test_sources_need_names(output: str, sentence: str, files: tuple[str, str], capfd: Captured) -> None:
    assert main(["convert", *files, "--to", "malloc-c", "-o", output]) == 2
    assert f"output: {sentence}" in capfd.readouterr().err


def test_a_plan_that_is_not_valid_is_an_error(files: tuple[str, str], tmp_path: Path, capfd: Captured) -> None:
    (tmp_path / "plan.csv").write_text("id,offset\na,0\nb,8\n")
    assert main(["convert", *files, "--to", "c", "-o", str(tmp_path / "arena.c")]) == 2
    assert "overlap" in capfd.readouterr().err
    assert not (tmp_path / "arena.c").exists()


@pytest.mark.parametrize("views", ["alias", "separate"])
def test_a_model_gets_its_plan(views: str, tmp_path: Path) -> None:
    problem, plan, written = (str(tmp_path / name) for name in ("problem.json", "plan.json", "planned.tflite"))
    assert main(["convert", VIEW, "-o", problem, "--views", views, "--quiet"]) == 0
    assert main(["plan", problem, "-o", plan, "--quiet"]) == 0
    assert main(["convert", VIEW, plan, "-o", written, "--views", views]) == 0
    data = Path(written).read_bytes()
    assert read_model(data).own_peak == json.loads(Path(plan).read_text())["peak"]


MODELS = Path(__file__).parents[2] / "models"


def test_a_cascade_that_gains_nothing_is_not_written(tmp_path: Path, capfd: Captured) -> None:
    target = tmp_path / "parts.tflite"
    given = str(MODELS / "recorded" / "kws_dscnn_int8.tflite")
    assert main(["cascade", given, "--macs", "+25%", "-o", str(target), "--time-limit", "5"]) == 1
    said = capfd.readouterr().err
    assert "not written, as nothing is gained: TFLite Micro's whole arena takes 24,208 bytes (head 16,000" in said
    assert not target.exists()


def test_a_cascade_of_a_model_with_variables_is_written_or_not_for_a_reason(tmp_path: Path, capfd: Captured) -> None:
    target = tmp_path / "parts.tflite"
    assert main(["cascade", str(MODELS / "variable.tflite"), "-o", str(target), "--time-limit", "5"]) == 1
    assert "not written, as nothing is gained" in capfd.readouterr().err


def test_the_whole_arena_of_a_new_order_is_said(tmp_path: Path, capfd: Captured) -> None:
    given, target = tmp_path / "model.tflite", tmp_path / "ordered.tflite"
    given.write_bytes(two_halves())
    assert main(["order", str(given), "--deterministic", "-o", str(target)]) == 0
    before, after = arena_of(given.read_bytes()), arena_of(target.read_bytes())
    assert after.used < before.used
    assert f"TFLite Micro's whole arena takes {after}, {before.used:,} as given" in capfd.readouterr().err


def test_an_order_that_gains_nothing_is_written_as_given(tmp_path: Path, capfd: Captured) -> None:
    given, target = tmp_path / "model.tflite", tmp_path / "ordered.tflite"
    given.write_bytes((MODELS / "recorded" / "kws_dscnn_int8.tflite").read_bytes())
    assert main(["order", str(given), "--deterministic", "-o", str(target)]) == 0
    assert "written as given, as nothing is gained: the given order has the least peak" in capfd.readouterr().err
    assert target.read_bytes() == given.read_bytes()


def test_the_whole_arena_of_a_plan_is_said(tmp_path: Path, capfd: Captured) -> None:
    given, plan, target = tmp_path / "model.tflite", str(tmp_path / "plan.json"), tmp_path / "planned.tflite"
    given.write_bytes(two_halves())
    assert main(["plan", str(given), "-o", plan, "--quiet"]) == 0
    assert main(["convert", str(given), plan, "-o", str(target)]) == 0
    arena = arena_of(target.read_bytes())
    assert f"TFLite Micro's whole arena takes {arena}, as large as {arena.used:,} without" in capfd.readouterr().err


def test_a_check_holds_the_whole_arena_of_a_model_to_the_budget_of_its_tensors(tmp_path: Path, capfd: Captured) -> None:
    given, plan = tmp_path / "model.tflite", tmp_path / "plan.json"
    given.write_bytes(two_halves())
    arena = arena_of(given.read_bytes())
    assert arena.head < arena.used == arena.least
    for budget, status in ((arena.head, 1), (arena.least - 1, 1), (arena.least, 0)):
        assert main(["check", str(given), "--budget", str(budget)]) == status
        found = json.loads(capfd.readouterr().out)
        assert (found["arena"]["least"], found["passed"]) == (arena.least, status == 0)
        said = [failure["message"] for failure in found["failures"] if "TFLite Micro's arena" in failure["message"]]
        assert len(said) == status
        assert all(f"{arena.least - budget:,} above its budget" in message for message in said)
    assert main(["plan", str(given), "-o", str(plan), "--quiet"]) == 0
    assert main(["check", str(given), "--plan", str(plan), "--budget", str(arena.head)]) == 0
    assert "arena" not in json.loads(capfd.readouterr().out)
