"""`memplan check`: output and exit status."""

import json
from pathlib import Path
from typing import Any

import pytest

from memplan.api.cli.main import main
from memplan.planner.formats import read_plan, read_problem
from memplan.planner.verify.verifier import verify
from tests.support.profiled import PROFILED
from tests.support.values import buffer_rows

Captured = pytest.CaptureFixture[str]
ROWS = "id,lower,upper,size\na,0,2,64\nb,1,3,32\nc,2,4,16\n"


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "buffers.csv"
    path.write_text(ROWS)
    return str(path)


@pytest.fixture
def larger_file(tmp_path: Path) -> str:
    path = tmp_path / "larger.csv"
    path.write_text(ROWS.replace("1,3,32", "1,3,48"))
    return str(path)


def run_check(capfd: Captured, status: int, *arguments: str) -> Any:
    assert main(["check", *arguments]) == status
    return json.loads(capfd.readouterr().out)


@pytest.mark.parametrize(("profile", "used"), [("speed", 64), ("size", 0)])
def test_profile_selects_the_pool_that_check_fills(profile: str, used: int, tmp_path: Path, capfd: Captured) -> None:
    problem = tmp_path / "pools.json"
    problem.write_text(json.dumps(PROFILED))
    assert run_check(capfd, 0, str(problem), "--profile", profile, "--budget", "slow=100")["pools"][0]["used"] == used


def test_check_exits_with_0_if_the_peak_is_within_the_budget(file: str, capfd: Captured) -> None:
    assert main(["check", file, "--capacity", "sram=unlimited", "--budget", "sram=96"]) == 0
    out, err = capfd.readouterr()
    found = json.loads(out)
    assert (found["passed"], found["pools"][0]["name"], found["pools"][0]["used"]) == (True, "sram", 96)
    assert err == "memplan: sram: 96 bytes of 96\n"


def test_check_exits_with_1_if_the_peak_grew_beyond_the_tolerance(
    file: str, larger_file: str, tmp_path: Path, capfd: Captured
) -> None:
    saved = str(tmp_path / "memory.json")
    run_check(capfd, 0, file, "--save-baseline", saved)
    assert run_check(capfd, 0, file, "--baseline", saved)["placements"]["same"] == 3
    found = run_check(capfd, 1, larger_file, "--baseline", saved)
    assert found["pools"][0]["causes"] == [{"buffer": "b", "kind": "grown", "bytes": 16, "before": 32, "after": 48}]
    assert run_check(capfd, 0, larger_file, "--baseline", saved, "--tolerance", "16")["pools"][0]["growth"] == 16
    other = str(tmp_path / "other.json")
    run_check(capfd, 1, larger_file, "--baseline", saved, "--save-baseline", other)
    run_check(capfd, 0, larger_file, "--baseline", other)


def test_check_writes_a_baseline_then_compares_it(file: str, larger_file: str, tmp_path: Path, capfd: Captured) -> None:
    saved = str(tmp_path / "memory.json")
    line = ["--baseline", saved, "--save-baseline", saved]
    assert main(["check", file, *line]) == 0
    assert capfd.readouterr().err.startswith(f"memplan: {saved}: is a new baseline, so only the next check can")
    run_check(capfd, 0, file, *line)
    before = Path(saved).read_bytes()
    for _ in range(2):
        assert main(["check", larger_file, *line]) == 1
        assert f"{saved}: is unchanged" in capfd.readouterr().err
    assert Path(saved).read_bytes() == before


def test_a_missing_baseline_is_an_error_unless_the_call_writes_it(file: str, tmp_path: Path, capfd: Captured) -> None:
    gone, saved = str(tmp_path / "gone.json"), str(tmp_path / "memory.json")
    assert main(["check", file, "--baseline", gone]) == 2
    assert f"make the file with `memplan check {file} --save-baseline {gone}`" in capfd.readouterr().err
    assert main(["check", file, "--baseline", gone, "--save-baseline", saved]) == 2
    assert not Path(saved).exists()


def test_a_given_plan_is_checked_without_a_new_search(file: str, tmp_path: Path, capfd: Captured) -> None:
    plan = tmp_path / "plan.csv"
    plan.write_text("id,offset\na,0\nb,64\nc,96\n")
    found = run_check(capfd, 1, file, "--plan", str(plan), "--budget", "100")
    assert (found["pools"][0]["used"], found["pools"][0]["lower_bound"], found["solver"]) == (112, None, None)


def test_check_saves_the_plan_with_the_pool_names_of_its_problem(tmp_path: Path, file: str) -> None:
    problem, plan = tmp_path / "two.json", tmp_path / "plan.json"
    pools = [{"name": "sram", "size": 512}, {"name": "dram"}]
    problem.write_text(json.dumps({"buffers": buffer_rows(a=(64, 0, 2), b=(32, 0, 2)), "pools": pools}))
    assert main(["check", str(problem), "--budget", "sram=64", "--save-plan", str(plan)]) == 0
    checked = read_problem(problem.read_bytes())
    assert verify(checked, read_plan(plan.read_bytes(), checked)) == ()


@pytest.mark.parametrize("name", ["report.md", "report.sarif", "report.xml", "report.json"])
def test_check_writes_every_report_format_whether_it_passes_or_fails(name: str, file: str, tmp_path: Path) -> None:
    report = tmp_path / name
    for budget, status in (("96", 0), ("95", 1)):
        assert main(["check", file, "--budget", budget, "-o", str(report)]) == status
        assert file.rsplit("/", 1)[1] in report.read_text()
        report.unlink()


def test_check_exits_with_1_and_writes_all_outputs_if_infeasible(file: str, tmp_path: Path, capfd: Captured) -> None:
    names = ("report.md", "plan.json", "memory.json", "answer.json")
    report, plan, saved, answer = (str(tmp_path / name) for name in names)
    options = ["--capacity", "80", "-o", report, "--save-plan", plan, "--save-baseline", saved, "-o", answer]
    assert main(["check", file, *options]) == 1
    assert capfd.readouterr().err.startswith("memplan: no-plan: ")
    assert json.loads(Path(plan).read_text())["status"] == "infeasible"
    assert not json.loads(Path(answer).read_text())["passed"]
    assert "not within limits" in Path(report).read_text()
    assert not Path(saved).exists()


def test_check_exits_with_2_for_an_invalid_plan(file: str, tmp_path: Path, capfd: Captured) -> None:
    plan = tmp_path / "plan.csv"
    plan.write_text("id,offset\na,0\nb,32\nc,96\n")
    assert main(["check", file, "--plan", str(plan)]) == 2
    assert capfd.readouterr().err.startswith("memplan: error: plan: must be valid, got overlap: ")
    assert main(["check", "-", "--plan", "-"]) == 2
