"""Files that commands write: never over their input, named when written, and those of `memplan convert`."""

import json
import os
from pathlib import Path
from typing import get_args

import pytest

from memplan.api.cli.main import main
from memplan.extensions.files.convert.options import Target
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.writing import EXPORTERS
from memplan.programs.operations.graph import graph_from

Captured = pytest.CaptureFixture[str]
BUFFERS = [{"id": name, "size": size, "start": 0, "end": 2} for name, size in (("a", 7), ("b", 400), ("c", 5))]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("p.json").write_text(json.dumps({"buffers": BUFFERS}))
    Path("q.json").write_text(json.dumps({"buffers": BUFFERS}))
    assert main(["plan", "p.json", "-o", "plan.json", "-q"]) == 0
    Path("link.json").symlink_to("p.json")
    os.link("p.json", "hard.json")
    Path("models").mkdir()
    Path("models/m.json").write_text(json.dumps({"buffers": BUFFERS}))
    Path("budgets.toml").write_text('["models/m.json"]\nbudget = "1KiB"\n')
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        "plan p.json -o p.json",
        "plan p.json -o ./p.json",
        "plan p.json -o link.json",
        "plan p.json -o hard.json",
        "plan p.json q.json --together none -o q.json",
        "plan p.json --keep plan.json -o plan.json",
        "verify p.json plan.json -o plan.json",
        "verify p.json plan.json --save-plan plan.json",
        "check p.json --save-plan p.json",
        "check p.json --plan plan.json -o plan.json",
        "convert p.json -o p.json",
        "convert p.json -o hard.json",
        "certify p.json plan.json -o plan.json",
        "explain p.json -o hard.json",
    ],
)
def test_no_command_overwrites_its_input_file(folder: Path, line: str, capfd: Captured) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert main(line.split()) == 2
    assert "must not be a file that the command reads" in capfd.readouterr().err
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("plan p.json -o x/y/", "output: "),
        ("plan no.json -o x/y/", "no.json: "),
        ("plan no.json none.json -o x/y/", "no.json: "),
        (f"plan p.json p.json -o x/{300 * 'y'}/", f"x/{300 * 'y'}/: file name too long"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_refused_command_names_what_is_wrong_and_leaves_no_folder(line: str, named: str, capfd: Captured) -> None:
    assert main(line.split()) == 2
    assert named in capfd.readouterr().err
    assert not Path("x").exists()


@pytest.mark.usefixtures("folder")
def test_the_flag_dim_may_be_repeated_for_different_names(capfd: Captured) -> None:
    assert main(["plan", "p.json", "--dim", "n=1", "--dim", "m=2"]) == 2
    assert "must be given once" not in capfd.readouterr().err


@pytest.mark.filterwarnings("error")
def test_graphs_and_options_serialise_lists_of_numbers_without_a_warning() -> None:
    op = {"in": [0], "out": [1], "attributes": {"kernel": [3, 3]}}
    assert graph_from({"size": [1, 1], "ops": [op]}).model_dump(mode="json")["ops"][0]["attributes"]
    assert ModelOptions(dims={"x": (1, 3)}).model_dump(mode="json")["dims"] == {"x": [1, 3]}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("plan p.json -o x.json -o x.svg", "memplan: wrote x.json, x.svg"),
        ("convert p.json plan.json -o x.c", "memplan: wrote x.h, x.c"),
        ("check p.json --save-baseline x.json", "memplan: wrote x.json"),
        ("check models --budgets budgets.toml -o r.json", "memplan: wrote r.json"),
        ("convert p.json plan.json -o x.c", 'no buffer has an alignment, and "c" is at 407: --alignment 4'),
    ],
)
def test_commands_list_files_they_wrote_unless_quiet(folder: Path, line: str, said: str, capfd: Captured) -> None:
    assert main(line.split()) == 0
    assert said in capfd.readouterr().err
    assert main([*line.split(), "-q"]) == 0
    assert "wrote" not in capfd.readouterr().err


@pytest.mark.usefixtures("folder")
def test_the_suffix_of_a_plan_decides_its_form_and_another_form_is_said(capfd: Captured) -> None:
    assert main(["plan", "p.json", "-o", "out.csv", "--format", "status,peak", "-q"]) == 0
    assert json.loads(capfd.readouterr().out) == {"status": "optimal", "peak": 412}
    assert Path("out.csv").read_text().startswith("id,lower,upper,size,offset")
    assert main(["plan", "p.json", "-o", "out.csv", "--format", "json"]) == 0
    assert "warning: out.csv is written as json, as --format says" in capfd.readouterr().err
    assert main(["convert", "p.json", "--to", "csv", "-o", "out.json"]) == 0
    assert "warning: out.json is written as csv, as --to says" in capfd.readouterr().err
    assert main(["plan", "p.json", "-o", "out.txt", "--format", "json"]) == 0
    assert "warning" not in capfd.readouterr().err


@pytest.mark.usefixtures("folder")
def test_options_that_need_something_else_are_told(capfd: Captured) -> None:
    assert main(["plan", "p.json", "--profile", "speed", "--format", "peak"]) == 0
    assert "no-effect: profile: the problem has one pool" in capfd.readouterr().err
    assert main(["check", "p.json", "--budget", "1KiB", "--with-plan", "--format", "plan"]) == 0
    assert json.loads(capfd.readouterr().out)["plan"]["peak"] == 412


@pytest.mark.usefixtures("folder")
def test_pools_have_costs_on_the_command_line(capfd: Captured) -> None:
    pools = ["--pool", "sram=400,cost=0.5", "--pool", "psram=4KiB@0x100,cost=4"]
    assert main(["plan", "p.json", *pools, "--profile", "speed", "--format", "cost", "-q"]) == 0
    assert json.loads(capfd.readouterr().out) == {"cost": 400 * 0.5 + 12 * 4}
    assert main(["plan", "p.json", "--pool", "sram=400,cost=low"]) == 2
    assert 'cost must be a number below 1000000000, such as 4, got "low"' in capfd.readouterr().err


ROWS = "id,lower,upper,size\na,0,2,16\nb,1,3,16\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    problem, plan = tmp_path / "problem.csv", tmp_path / "plan.csv"
    problem.write_text(ROWS)
    plan.write_text("id,offset\na,0\nb,16\n")
    return str(problem), str(plan)


def test_convert_offers_the_format_of_every_exporter() -> None:
    assert get_args(Target) == ("json", "csv", "graph", "operations", "objects", "lp", "mps", *EXPORTERS)


def test_convert_writes_a_header_next_to_a_c_source(files: tuple[str, str], tmp_path: Path) -> None:
    assert main(["convert", *files, "--to", "c", "-o", str(tmp_path / "arena.c")]) == 0
    assert '#include "arena.h"' in (tmp_path / "arena.c").read_text()
    assert "#define ARENA_OFFSET_b 16u" in (tmp_path / "arena.h").read_text()


def test_convert_can_write_a_single_file_to_standard_output(files: tuple[str, str], capfd: Captured) -> None:
    assert main(["convert", *files, "--to", "triples", "-o", "-", "--quiet"]) == 0
    out, err = capfd.readouterr()
    assert (json.loads(out), err) == ([["a", "default", 0], ["b", "default", 16]], "")


def test_convert_writes_no_file_of_an_invalid_plan(files: tuple[str, str], tmp_path: Path, capfd: Captured) -> None:
    (tmp_path / "plan.csv").write_text("id,offset\na,0\nb,8\n")
    assert main(["convert", *files, "--to", "c", "-o", str(tmp_path / "arena.c")]) == 2
    assert "overlap" in capfd.readouterr().err
    assert not (tmp_path / "arena.c").exists()
