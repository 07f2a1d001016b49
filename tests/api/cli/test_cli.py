"""The command, run in this process: its output streams and its exit status."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from memplan.api.cli.commands import RunnableCommand
from memplan.api.cli.main import main
from memplan.planner.formats import read_plan, read_problem
from memplan.planner.verify.verifier import verify

TWO = b'{"buffers": [{"id": "a", "size": 64, "start": 0, "end": 3}, {"id": "b", "size": 32, "start": 2, "end": 5}]}'
WRONG = b'{"placements": [{"id": "a", "pool": "default", "offset": 0}, {"id": "b", "pool": "default", "offset": 0}]}'
EXAMPLE = Path(__file__).parents[3] / "examples" / "mobilenet_v2.csv"

NO_CLAIMS: dict[str, Any] = {"unrepeated": None, "claims": [], "proved": None}
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def pair(tmp_path: Path) -> str:
    path = tmp_path / "two.json"
    path.write_bytes(TWO)
    return str(path)


def test_plan_writes_json_to_standard_output_by_default(pair: str, capfd: Captured) -> None:
    assert main(["plan", pair]) == 0
    out, err = capfd.readouterr()
    answer = json.loads(out)
    assert (answer["status"], answer["peak"], err) == ("optimal", 96, "")
    assert out.endswith("}\n")


@pytest.mark.parametrize("name", ["plan.json", "plan.csv"])
def test_the_extension_of_the_output_file_selects_the_plan_format(name: str, tmp_path: Path, capfd: Captured) -> None:
    file = tmp_path / name
    assert main(["plan", str(EXAMPLE), "-o", str(file)]) == 0
    assert capfd.readouterr() == ("", f"memplan: wrote {file}\n")
    problem = read_problem(EXAMPLE.read_bytes(), EXAMPLE.name)
    plan = read_plan(file.read_bytes(), problem, name)
    assert len(plan.placements) == len(problem.buffers) == 66
    assert verify(problem, plan) == ()


def test_the_flag_format_overrides_the_extension_of_the_output_file(pair: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    assert main(["plan", pair, "-o", str(file), "--format", "csv"]) == 0
    assert file.read_text().splitlines()[0] == "id,lower,upper,size,offset"


def test_plan_prints_a_table_with_the_flag_format_table(pair: str, capfd: Captured) -> None:
    assert main(["plan", pair, "--format", "table"]) == 0
    out, err = capfd.readouterr()
    lines = out.splitlines()
    assert err == ""
    assert lines[0].startswith("optimal: peak 96 bytes, lower bound 96, gap 0.00%, found by ")
    assert lines[1].split() == ["pool", "base", "address", "size", "peak", "lower", "bound"]
    assert lines[2].split() == ["default", "0x0", "unlimited", "96", "96", "B", "96"]
    assert lines[3] == "at the peak of default, time 2: a (64), b (32)"
    assert lines[4] == "live bytes from time 2 to 2: at most 96 (96 B), at time 2"


def test_the_peak_line_of_a_table_counts_bytes_that_buffers_share(tmp_path: Path, capfd: Captured) -> None:
    rows = [{"id": name, "size": size, "start": 0, "end": 3} for name, size in (("a", 64), ("b", 64), ("c", 8))]
    file = tmp_path / "p.json"
    file.write_text(json.dumps({"buffers": rows, "may_share": [["a", "b"]]}))
    assert main(["plan", str(file), "--format", "table"]) == 0
    (line,) = [line for line in capfd.readouterr().out.splitlines() if line.startswith("at the peak")]
    assert line == "at the peak of default, time 0: a (64), b (64), c (8); some share bytes, 64 of these 136"


def test_repeated_capacity_flags_define_named_pools(pair: str, capfd: Captured) -> None:
    assert main(["plan", pair, "--capacity", "fast=64", "--capacity", "slow=unlimited"]) == 0
    pools = json.loads(capfd.readouterr().out)["pools"]
    assert [(pool["name"], pool["size"], pool["used"]) for pool in pools] == [("fast", 64, 64), ("slow", None, 32)]


def test_probable_mistakes_in_a_problem_are_warnings_not_errors(tmp_path: Path, capfd: Captured) -> None:
    file = tmp_path / "odd.json"
    file.write_bytes(b'{"buffers": [{"id": "a", "size": 1, "start": 0, "end": 1}], "conflicts": [["a", "a"]]}')
    assert main(["plan", str(file)]) == 0
    assert capfd.readouterr().err.startswith("memplan: warning: self-conflict")
    assert main(["plan", str(file), "--quiet"]) == 0
    assert capfd.readouterr().err == ""


def test_verify_reports_whether_a_plan_is_valid(pair: str, tmp_path: Path, capfd: Captured) -> None:
    plan = tmp_path / "plan.csv"
    assert main(["plan", pair, "-o", str(plan), "-q"]) == 0
    assert main(["verify", pair, str(plan)]) == 0
    out, err = capfd.readouterr()
    told = json.loads(out)
    (pool,) = told.pop("pools")
    assert told == {"valid": True, "violations": [], "placements": 2} | NO_CLAIMS
    assert err == f"memplan: valid, 2 placements\nmemplan: {pool['name']}: {pool['sentence']}\n"


def test_verify_names_every_violation_and_exits_with_3(pair: str, tmp_path: Path, capfd: Captured) -> None:
    plan = tmp_path / "plan.json"
    plan.write_bytes(WRONG)
    assert main(["verify", pair, str(plan)]) == 3
    out, err = capfd.readouterr()
    answer = json.loads(out)
    assert not answer["valid"]
    assert [(each["first"], each["second"], each["bytes"]) for each in answer["violations"]] == [("a", "b", [0, 32])]
    assert err.startswith("memplan: overlap: ")


def test_convert_to_csv_and_back_is_exact(pair: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    table = tmp_path / "two.csv"
    assert main(["convert", pair, "-o", str(table)]) == 0
    assert table.read_text() == "id,lower,upper,size\na,0,3,64\nb,2,5,32\n"
    assert main(["convert", str(table), "-o", "-"]) == 0
    assert read_problem(capfdbinary.readouterr().out) == read_problem(TWO)


def test_solvers_lists_the_installed_solvers(capfd: Captured) -> None:
    assert main(["solvers"]) == 0
    rows = {row["name"]: row for row in json.loads(capfd.readouterr().out)["solvers"]}
    assert rows["greedy"]["installed"]
    assert "pins" in rows["cp-sat"]["can"]
    assert main(["solvers", "--format", "table"]) == 0
    out, err = capfd.readouterr()
    assert out == ""
    names = {name.removeprefix("reference:") for name in ("solver", "reference:", *rows)}
    assert {line.split()[0].removeprefix("reference:") for line in err.splitlines() if line[0] != " "} == names


@pytest.mark.parametrize("fault", [ZeroDivisionError("by 0"), ModuleNotFoundError("No module", name="memplan.gone")])
def test_an_internal_error_exits_with_70(
    fault: Exception, pair: str, monkeypatch: pytest.MonkeyPatch, capfd: Captured
) -> None:
    def fail(**_options: object) -> None:
        raise fault

    monkeypatch.setattr("memplan.api.cli.commands.find_command", lambda _words: RunnableCommand(fail, "memplan", ()))
    assert main(["plan", pair]) == 70
    out, err = capfd.readouterr()
    first, *_, last = err.splitlines()
    assert (out, first) == ("", "Traceback (most recent call last):")
    assert last == f"memplan: error: a fault of memplan, please report it: {type(fault).__name__}: {fault}"


def test_memplan_without_a_command_prints_its_help_or_version(capfd: Captured) -> None:
    assert main([]) == 2
    assert "Usage: memplan" in "".join(capfd.readouterr())
    assert main(["--help"]) == 0
    capfd.readouterr()
    assert main(["--version"]) == 0
    assert capfd.readouterr().out.startswith("memplan ")


def refusal_lines(arguments: list[str], capfd: Captured) -> list[str]:
    assert main(arguments) == 2
    out, err = capfd.readouterr()
    assert out == ""
    return err.splitlines()


@pytest.mark.parametrize("command", ["plan {two}", "plan {two} --keep {plan}", "check {two}", "certify {two}"])
def test_an_unwritable_output_file_is_reported_before_the_work_begins(
    command: str, pair: str, tmp_path: Path, capfd: Captured
) -> None:
    plan = tmp_path / "plan.json"
    assert main(["plan", pair, "-o", str(plan), "-q"]) == 0
    arguments = command.format(two=pair, plan=plan).split()
    (line,) = refusal_lines([*arguments, "-o", "nowhere/plan.json"], capfd)
    assert line.startswith("memplan: error: nowhere/plan.json: no such directory: ")


@pytest.mark.parametrize("options", [["--views", "xml"], ["--time-limit", "long"], ["--colour"]])
def test_a_wrong_command_line_option_prints_usage_and_an_error(options: list[str], pair: str, capfd: Captured) -> None:
    lines = refusal_lines(["plan", pair, *options], capfd)
    assert lines[0].startswith("Usage: memplan plan")
    assert any(line.startswith("Error: ") for line in lines)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_writing_to_a_full_disk_fails_and_leaves_the_old_file_intact(
    pair: str, tmp_path: Path, capfd: Captured
) -> None:
    said = refusal_lines(["plan", pair, "-o", "/dev/full", "--format", "json"], capfd)
    assert said == ["memplan: error: /dev/full: no space left on device"]
    old = tmp_path / "plan.json"
    old.write_text("old")
    (tmp_path / f".memplan-{os.getpid()}.part").symlink_to("/dev/full")
    assert refusal_lines(["plan", pair, "-o", str(old)], capfd) == [f"memplan: error: {old}: no space left on device"]
    assert old.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.json", "two.json"]


def test_an_output_file_behind_a_symlink_keeps_its_permissions(pair: str, tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    assert main(["plan", pair, "-o", str(link)]) == 0
    assert link.is_symlink()
    assert json.loads(real.read_text())["peak"] == 96
    assert real.stat().st_mode & 0o777 == 0o640
