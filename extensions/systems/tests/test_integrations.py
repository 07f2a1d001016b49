"""Integrations with other runtimes: the checker for their tests, patches, and the page's tables."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from integrations import edit
from integrations.tables import PAGE, page
from memplan.api.cli.main import main
from memplan.extensions.systems.tests.planner_inputs import planner_input
from memplan.planner.model.problem import Problem
from memplan.planner.systems import reference_planners

CHECK = Path(__file__).parents[3] / "integrations" / "check"
WRONG = sorted((CHECK / "wrong").glob("*.csv"))
PRINTS = Path(__file__).parents[3] / "tests" / "dumps" / "wrong"
PLANNERS = ("ggml-allocator", "tflite-micro-greedy", "onnxruntime-memory-pattern", "xnnpack-memory-planner")


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> str:
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("needs a C compiler")
    program = str(tmp_path_factory.mktemp("checker") / "memplan_check")
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"]
    subprocess.run([compiler, *strict, str(CHECK / "memplan_check.c"), "-o", program], check=True)
    return program


def checked(checker: str, *tables: Path) -> tuple[int, str, str]:
    done = subprocess.run([checker, *map(str, tables)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def sound_table(seed: int) -> str:
    """Return a plan of a runtime's planner as a table."""
    rows = planner_input(seed)
    buffers = [{"id": k, "size": size, "start": start, "end": end} for k, (size, start, end) in enumerate(rows)]
    planner = reference_planners()[f"reference:{PLANNERS[seed % len(PLANNERS)]}"].load()
    placements = planner(Problem.model_validate({"buffers": buffers}), 0, lambda: None).placements
    lines = [f"b{k},{start},{end},{size},{placements[k][1]}" for k, (size, start, end) in enumerate(rows)]
    return "\n".join(["id,lower,upper,size,offset", *lines]) + "\n"


@pytest.mark.parametrize("table", WRONG, ids=lambda table: table.stem)
def test_a_wrong_plan_is_named_by_the_checker_as_by_verify(
    checker: str, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, output, _ = checked(checker, table)
    sentences = [line.removeprefix(f"{table}: ").replace("'", '"') for line in output.splitlines()]
    assert (status, main(["verify", str(table), str(table)])) == (3, 3)
    said = capsys.readouterr().err.replace(' of "default"', "")
    assert sentences
    assert sorted(
        line.removeprefix("memplan: overlap: buffers ") for line in said.splitlines() if "overlap" in line
    ) == (sorted(sentences))


@pytest.mark.parametrize("name", sorted({path.stem.partition(".py")[0] for path in PRINTS.iterdir()}))
def test_a_wrong_plan_in_the_output_of_a_system_is_reported(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if any(path.suffix == ".onnx" for path in PRINTS.glob(f"{name}.*")):
        pytest.importorskip("onnx")
    assert main(["verify", *map(str, sorted(PRINTS.glob(f"{name}.*")))]) == 3
    message = next(line for line in capsys.readouterr().err.splitlines() if "warning: race" not in line)
    assert re.search(r'"[^"]+" and "[^"]+" share bytes \[\d+, \d+\) of|"[^"]+": must end at \d+ at the most', message)


@pytest.mark.slow
def test_a_thousand_sound_plans_raise_no_alarm(checker: str, tmp_path: Path) -> None:
    tables = [tmp_path / f"{seed}.csv" for seed in range(1000)]
    for seed, path in enumerate(tables):
        path.write_text(sound_table(seed))
    assert checked(checker, *tables) == (0, "", "")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "must be a table that can be read"),
        ("id,lower,upper,size\na,0,1,4\n", "must have the columns id, lower, upper, size and offset, got 'offset'"),
        ("id,lower,upper,size,offset\na,0,1,4k,0\n", "must have a whole number in each of its columns, got '4k'"),
        ("id,lower,upper,size,offset\na,3,3,4,0\n", "must end after it starts, got 'a'"),
        ("id,lower,upper,size,offset\na,0,1,4,-8\n", "must have no negative bytes, got 'a'"),
    ],
)
def test_a_table_that_says_too_little_is_refused(checker: str, tmp_path: Path, text: str, sentence: str) -> None:
    table = tmp_path / "table.csv"
    table.write_text(text)
    status, output, error = checked(checker, table)
    assert (status, output) == (2, "")
    assert sentence in error


def test_pools_capacities_and_last_times_are_read(checker: str, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text('size,start,end,offset,id,pool,capacity\n8,0,1,0,"a",sram,8\n8,1,2,0,b,dram,\n4,1,1,6,c,sram,8\n')
    assert checked(checker, table)[:2] == (
        3,
        f"{table}: 'c' ends at 10, above the capacity 8\n"
        f"{table}: 'a' and 'c' share bytes [6, 8) of sram, but both are alive in [1, 2)\n",
    )


@pytest.mark.parametrize("runtime", edit.EDITS)
def test_a_runtime_is_edited_once_and_only_where_all_anchors_are_found(
    runtime: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: dict[Path, str] = {}
    for name, place, _ in edit.EDITS[runtime]:
        texts[tmp_path / name] = texts.get(tmp_path / name, "") + place
    for file, text in texts.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    name, place, _ = edit.EDITS[runtime][1]
    (tmp_path / name).write_text(texts[tmp_path / name].replace(place, ""))
    monkeypatch.setattr(sys, "argv", ["edit.py", runtime, str(tmp_path)])
    with pytest.raises(SystemExit, match=r"must have .* once, has it 0 times"):
        edit.main()
    assert all("memplan" not in file.read_text() for file in texts)
    (tmp_path / name).write_text(texts[tmp_path / name])
    edit.main()
    for name, place, line in edit.EDITS[runtime]:
        assert place + line in (tmp_path / name).read_text()
    adapter = tmp_path / edit.ADAPTERS[runtime]
    assert {path.name for path in adapter.parent.iterdir()} >= {"memplan.cpp", "memplan.h", adapter.name}
    with pytest.raises(SystemExit, match="has memplan already"):
        edit.main()


def test_the_tables_of_the_page_are_those_that_were_recorded() -> None:
    text = PAGE.read_text()
    assert page(text) == text
