"""Tests of `memplan check` for a folder, with one file of budgets."""

import json
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from memplan.api.cli.main import main
from tests.runtimes.tflite_files import model, operator, subgraph, tensor

Captured = pytest.CaptureFixture[str]


def network(elements: int) -> bytes:
    return model(subgraph([tensor("x", (elements,)), tensor("y", (elements,))], [0], [1], [operator("RELU", [0], [1])]))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three models, of 128, 1,024 and 2,048 bytes, 800 more in TFLite Micro's arena, and files that are none."""
    monkeypatch.chdir(tmp_path)
    nested = tmp_path / "models" / "nested"
    nested.mkdir(parents=True)
    (tmp_path / "models" / "a.tflite").write_bytes(network(16))
    (tmp_path / "models" / "b.TFLITE").write_bytes(network(128))
    (nested / "c.tflite").write_bytes(network(256))
    (tmp_path / "models" / "labels.txt").write_text("yes\nno\n")
    (tmp_path / "models" / ".hidden.tflite").write_bytes(b"")
    return tmp_path


def budgets(folder: Path, text: str) -> str:
    (folder / "budgets.toml").write_text(text)
    return "budgets.toml"


def run_check(capfd: Captured, status: int, *arguments: str) -> tuple[Any, list[str]]:
    assert main(["check", *arguments]) == status, capfd.readouterr()
    out, err = capfd.readouterr()
    return json.loads(out or "null"), err.splitlines()


def test_check_prints_one_line_for_each_model_with_its_budget_or_the_default(folder: Path, capfd: Captured) -> None:
    default = '[default]\ncapacity = {sram = "unlimited"}\nbudget = {sram = 2000}\n'
    given = budgets(folder, f'["models/a.tflite"]\nbudget = "1KiB"\n{default}')
    found, said = run_check(capfd, 1, "models", "--budgets", given)
    assert [check["passed"] for check in found["checks"]] == [True, True, False]
    assert not found["passed"]
    arena, host = "TFLite Micro's arena:", "on host (64-bit, reference kernels)"
    flash = f"; the model itself takes {len(network(16)):,} bytes of flash"
    second = f"1,824 bytes {host} (head 1,024, tail 800){flash}"
    first = f"928 bytes {host} (head 128, tail 800, 992 to start){flash}"
    assert said[:2] == [
        f"memplan: models/a.tflite: sram: 128 bytes of 1,024; {arena} {first}",
        f"memplan: models/b.TFLITE: sram: 1,024 bytes of 2,000; {arena} {second}",
    ]
    assert said[2].startswith('memplan: models/nested/c.tflite: over-budget: pool "sram": uses 2,048 bytes, 48 above')
    assert len(said) == 3


def test_check_reports_a_model_that_has_neither_a_budget_nor_a_default(folder: Path, capfd: Captured) -> None:
    _, said = run_check(capfd, 0, "models", "--budgets", budgets(folder, '["models/a.tflite"]\nbudget = 992\n'))
    assert said[1:] == [
        "memplan: models/b.TFLITE: default: 1,024 bytes; without budget",
        "memplan: models/nested/c.tflite: default: 2,048 bytes; without budget",
    ]


def test_flags_apply_to_all_models_without_their_own_setting_in_the_file(folder: Path, capfd: Captured) -> None:
    run_check(capfd, 1, "models", "--budget", "2KiB")
    given = budgets(folder, '["models/nested/c.tflite"]\nbudget = "3KiB"\n')
    run_check(capfd, 0, "models", "--budget", "2KiB", "--budgets", given)


def test_paths_in_the_budget_file_are_relative_to_it_also_for_a_single_model(folder: Path, capfd: Captured) -> None:
    (folder / "models" / "budgets.toml").write_text('["a.tflite"]\nbudget = 127\n')
    run_check(capfd, 1, "models/a.tflite", "--budgets", "models/budgets.toml")
    run_check(capfd, 2, "models/b.TFLITE", "--budgets", "models/budgets.toml")  # which has none
    run_check(capfd, 1, str(folder), "--budgets", str(folder / "models" / "budgets.toml"))


def test_a_table_of_the_budget_file_may_set_flags_and_a_baseline(folder: Path, capfd: Captured) -> None:
    run_check(capfd, 0, "models/a.tflite", "--save-baseline", "a.json")
    (folder / "models" / "a.tflite").write_bytes(network(20))
    keys = 'baseline = "a.json"\nviews = "separate"\nalignment = 16\npin = {x = 0}\ntime-limit = 5\n'
    _, said = run_check(capfd, 1, "models", "--budgets", budgets(folder, f'["models/a.tflite"]\n{keys}'))
    assert any("models/a.tflite: grown: " in line for line in said)
    run_check(capfd, 0, "models", "--budgets", budgets(folder, f'["models/a.tflite"]\n{keys}tolerance = "100%"\n'))


def test_the_first_check_writes_the_baseline_that_a_table_names(folder: Path, capfd: Captured) -> None:
    given = budgets(folder, '["models/a.tflite"]\nbaseline = "a.json"\n')
    assert main(["check", "models", "--budgets", given]) == 2
    assert "make the file with `memplan check models/a.tflite --save-baseline a.json`" in capfd.readouterr().err
    run_check(capfd, 0, "models/a.tflite", "--budgets", given, "--save-baseline", str(folder / "a.json"))
    _, said = run_check(capfd, 0, "models", "--budgets", given)
    assert said[0] == "memplan: models/a.tflite: default: 128 bytes (+0); without budget"


def test_check_includes_a_problem_that_the_budget_file_names(folder: Path, capfd: Captured) -> None:
    (folder / "models" / "rows.csv").write_text("id,lower,upper,size\na,0,2,64\n")
    _, said = run_check(capfd, 1, "models", "--budgets", budgets(folder, '["models/rows.csv"]\nbudget = 63\n'))
    assert 'models/rows.csv: over-budget: pool "default": uses 64 bytes' in said[3]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("budget = ", "budgets.toml: must be TOML: Invalid value (at end of document)"),
        ("[models/a.tflite]\n", "budgets.toml: must be TOML: "),
        ("[budgets.toml]", '"budgets": must be the quoted path of an existing file in . (did you mean "budgets.to'),
        ('["budget.toml"]', 'in . (did you mean "budgets.toml"?)'),
        ('budget = "1KiB"', 'budgets.toml: "budget": must be in the table [default] or in that of a model, got "1KiB"'),
        ("[d.tflite]\nbudget = 1", 'budgets.toml: "d": must be the quoted path of an existing file in .'),
        ('["a.tflite"]',
         'budgets.toml: "a.tflite": must be the quoted path of an existing file in . (did you mean "models/a'),
        ('["models/d.tflite"]', 'budgets.toml: "models/d.tflite": must be the quoted path of an existing file in .'),
        ("[default]\nbudgte = 1", 'got "budgte" (did you mean budget?)'),
        ('[default]\nbaseline = "a"', "budgets.toml: default: must have known keys only ("),
        ('["models/a.tflite"]\nbudget = "64KiBs"',
         'budgets.toml: "models/a.tflite".budget: must be a size such as 4096, 64kB or 1MiB, got "64KiBs"'),
        ("[default]\nbudget = {sram = -1}", "budgets.toml: default.budget: must be a size such as "),
        ("[default]\nbudget = [1, 2]", "budgets.toml: default.budget: must name a pool"),
        ('[default]\ntolerance = "much"', "budgets.toml: default.tolerance: must be a size or a percentage, "),
        ("[default]\ntolerance = 5", "budgets.toml: default.tolerance: must be "),
        ('[default]\ndim = "batch"',
         "budgets.toml: default.dim: must be NAME=SIZE, as in batch=1, or of an input NAME=SIZE,"),
        ('[default]\ntime-limit = "x"', "budgets.toml: default.time-limit: must be "),
    ],
)  # fmt: skip
def test_errors_in_the_budget_file_are_reported(text: str, sentence: str, folder: Path, capfd: Captured) -> None:
    assert main(["check", "models", "--budgets", budgets(folder, text)]) == 2
    out, err = capfd.readouterr()
    assert sentence in err, err
    assert (out, err.count("\n"), err.partition("budgets.toml: ")[0]) == ("", 1, "memplan: error: ")


def test_an_invalid_model_does_not_stop_the_check_of_the_others(folder: Path, capfd: Captured) -> None:
    (folder / "models" / "a.tflite").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    given = budgets(folder, '["models/b.TFLITE"]\nbudget = {sram = 2048}\npin = "none=0"\n[default]\nbudget = 1\n')
    found, said = run_check(capfd, 2, "models", "--budgets", given)
    assert said[0].startswith("memplan: error: models/a.tflite: must be a file that memplan reads, got a pointer")
    assert said[1].startswith("memplan: error: models/b.TFLITE: pin: ")
    rules = [(check["subject"], [each["rule"] for each in check["failures"]]) for check in found["checks"]]
    assert rules[2][0] == "models/nested/c.tflite"
    assert rules[:2] == [("models/a.tflite", ["unread"]), ("models/b.TFLITE", ["unread"])]


@pytest.mark.parametrize("flag", ["--save-baseline", "--baseline", "--plan", "--subject"])
def test_options_for_a_single_model_are_refused_for_a_folder(flag: str, folder: Path, capfd: Captured) -> None:
    assert main(["check", "models", flag, "x.json"]) == 2
    assert capfd.readouterr().err.endswith(": applies only to a single model, got a folder\n")


def test_a_folder_without_models_is_refused(folder: Path, capfd: Captured) -> None:
    shutil.rmtree(folder / "models" / "nested")
    (folder / "none").mkdir()
    assert main(["check", "none"]) == 2
    said = capfd.readouterr().err
    assert said.startswith("memplan: error: none: must contain a model (.")
    assert {".tflite", ".onnx"} <= {*said.partition("(")[2].partition(")")[0].split(", ")}


def test_reports_of_check_include_all_models(folder: Path) -> None:
    endings = ("md", "sarif", "xml", "json")
    reports = [word for ending in endings for word in ("-o", f"report.{ending}")]
    assert main(["check", "models", "--budget", "2KiB", *reports, "-q"]) == 1
    for ending in endings:
        text = (folder / f"report.{ending}").read_text().replace("\\", "")
        assert all(name in text for name in ("models/a.tflite", "models/b.TFLITE", "models/nested/c.tflite"))
    suites = ET.fromstring((folder / "report.xml").read_text())
    assert (len(suites), suites.attrib["tests"], suites.attrib["failures"]) == (3, "6", "1")
    assert len(json.loads((folder / "report.sarif").read_text())["runs"]) == 3


def test_check_prints_its_table_on_standard_output(folder: Path, capfd: Captured) -> None:
    assert main(["check", "models", "--budget", "4KiB", "--format", "table"]) == 0
    out, err = capfd.readouterr()
    assert (len(out.splitlines()), err) == (3, "")


def test_a_folder_on_several_boards_has_a_row_for_each_model_and_board(folder: Path, capfd: Captured) -> None:
    boards = "host,cortex-m4/cmsis-nn,esp32s3"
    assert main(["check", "models", "--target", boards, "--format", "table", "--budget", "1900"]) == 1
    out, err = capfd.readouterr()
    head, *rows = [re.split(r" {2,}", line) for line in out.splitlines()]
    assert head[:5] == ["model", "target", "planned", "scratch in it", "persistent"]
    small = ["cortex-m4 (32-bit, cmsis-nn kernels)", "esp32s3 (32-bit, reference kernels)"]
    assert [row[1] for row in rows[:3]] == ["host (64-bit, reference kernels)", *small]
    assert len(rows) == 9
    assert rows[0][2:] == ["128", "0", "800", "352", "992", f"{len(network(16)):,}", "1,900", "fits"]
    assert {tuple(row[-1].split()[1:]) for row in rows if "c.tflite" in row[0]} == {("over",)}
    assert ["c.tflite: over-budget" in line for line in err.splitlines()] == [True] * 3


def test_a_single_board_may_be_given_with_its_kernels(folder: Path, capfd: Captured) -> None:
    assert main(["check", "models/a.tflite", "--target", "cortex-m4/cmsis-nn", "--format", "table"]) == 0
    assert "cortex-m4 (32-bit, cmsis-nn kernels)" in capfd.readouterr().out
    assert main(["check", "models/a.tflite", "--target", "cortex-m4/esp-nn", "--format", "table"]) != 0
    assert 'must be one of reference, cmsis-nn, ethos-u for "cortex-m4", got "esp-nn"' in capfd.readouterr().err


def test_reports_of_several_boards_tell_them_apart(folder: Path) -> None:
    line = ["check", "models/a.tflite", "--target", "cortex-m4,esp32s3", "--budget", "300", "-q"]
    assert main([*line, "-o", "report.md", "-o", "report.sarif"]) == 1
    assert (folder / "report.md").read_text().startswith("## Arenas, in bytes\n")
    runs = json.loads((folder / "report.sarif").read_text())["runs"]
    marks = {run["results"][0]["partialFingerprints"]["memplanPool/v1"] for run in runs}
    assert (len(marks), len({run["automationDetails"]["id"] for run in runs})) == (2, 2)
    located = [(run["results"][0]["locations"][0]["physicalLocation"], run["tool"]) for run in runs]
    assert list({place["artifactLocation"]["uri"]: tool for place, tool in located}) == ["models/a.tflite"]


def test_an_unknown_board_among_several_is_refused_by_its_name(folder: Path, capfd: Captured) -> None:
    assert main(["check", "models/a.tflite", "--target", "esp32s3,z80", "--format", "table"]) == 2
    out, err = capfd.readouterr()
    assert 'got "z80"' in err
    assert len(out.splitlines()) == 2


def test_check_on_a_named_target_needs_no_budget(folder: Path, capfd: Captured) -> None:
    found, _ = run_check(capfd, 0, "models/a.tflite", "--target", "host")
    assert found["arena"]["target"] == "host (64-bit, reference kernels)"
    assert main(["check", "models/a.tflite"]) == 2
