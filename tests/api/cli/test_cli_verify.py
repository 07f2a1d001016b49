"""`memplan verify --again` and `--better`, and `--format page`: output and exit status."""

import json
from pathlib import Path

import pytest

from memplan.api.cli.main import main

Captured = pytest.CaptureFixture[str]
TABLE = "id,lower,upper,size\na,0,2,4\nb,1,3,4\nc,2,4,6\n"


@pytest.fixture
def table(tmp_path: Path, capfd: Captured) -> Path:
    (tmp_path / "p.csv").write_text(TABLE)
    assert main(["plan", str(tmp_path / "p.csv"), "--deterministic", "-o", str(tmp_path / "p.json")]) == 0
    capfd.readouterr()
    return tmp_path / "p.csv"


def test_verify_again_reproduces_a_deterministic_plan_byte_for_byte(table: Path, capfd: Captured) -> None:
    plan, saved = table.with_name("p.json"), table.with_name("again.json")
    assert main(["verify", str(table), str(plan), "--again", "--save-plan", str(saved)]) == 0
    told = capfd.readouterr()
    assert json.loads(told.out)["again"]["same"] == "bytes"
    assert told.err.splitlines()[-2:] == ["memplan: the same bytes", f"memplan: wrote {saved}"]
    assert saved.read_bytes() == plan.read_bytes()


def test_verify_again_exits_with_a_different_status_for_each_kind_of_difference(table: Path, capfd: Captured) -> None:
    plan = table.with_name("p.json")
    whole = json.loads(plan.read_text())
    higher = [row | {"offset": row["offset"] + 1} for row in whole["placements"]]
    other = {"placements": higher, "peak": 11, "status": "feasible"}
    for changed, status in ((whole | {"solver": "x"}, 4), (other, 5)):
        plan.write_text(json.dumps(changed))
        assert main(["verify", str(table), str(plan), "--again"]) == status
    assert "peak 11 (feasible) then, 10 (optimal) now" in capfd.readouterr().err
    assert main(["verify", str(table), str(plan), "--save-plan", "x.json"]) == 2
    assert "save-plan: applies only with --better or --again" in capfd.readouterr().err


TESTS = Path(__file__).parents[2]
PROBLEM = "id,lower,upper,size\n1,0,4,8\n2,0,2,8\n3,2,4,4\n"
BETTER = ["--better", "--format", "json"]
PLACES = {"1": 0, "2": 8, "3": 18}


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    (tmp_path / "p.csv").write_text(PROBLEM)
    return tmp_path / "p.csv"


@pytest.mark.parametrize(
    "plan",
    [
        json.dumps({"placements": [{"id": k, "pool": "default", "offset": at} for k, at in PLACES.items()]}),
        json.dumps(PLACES),
        json.dumps([[int(k), at] for k, at in PLACES.items()]),
        json.dumps([{"id": k, "offset": at} for k, at in PLACES.items()]),
        "id,offset\n1,0\n2,8\n3,18\n",
    ],
)
def test_verify_better_accepts_plans_and_offset_lists_in_any_format(problem: Path, plan: str, capfd: Captured) -> None:
    target = problem.with_name("plan.csv" if plan.startswith("id") else "plan.json")
    target.write_text(plan)
    assert main(["verify", str(problem), str(target), *BETTER, "--save-plan", str(problem.with_name("o.json"))]) == 0
    told = json.loads(capfd.readouterr().out)
    told = told["better"] | {"valid": told["valid"]}
    assert (told["valid"], told["peak"], told["best"], told["too_much_bytes"]) == (True, 22, 16, 6)
    assert told["fewest_moves"] == {"count": 1, "moved": ["3"], "at_least": 1, "proved": True}
    assert json.loads(problem.with_name("o.json").read_text())["peak"] == 16


def test_verify_better_exits_with_3_for_an_invalid_plan(problem: Path, capfd: Captured) -> None:
    target = problem.with_name("plan.json")
    target.write_text(json.dumps({"1": 0, "2": 4, "3": 8}))
    assert main(["verify", str(problem), str(target), "--better", "--format", "table"]) == 3
    assert capfd.readouterr().out.startswith("overlap: ")


def test_verify_refuses_a_file_without_offsets_and_reports_its_content(problem: Path, capfd: Captured) -> None:
    assert main(["verify", str(problem)]) == 2
    assert "file has no offsets" in capfd.readouterr().err
    assert main(["verify", str(TESTS / "dumps" / "resnet50.iree.txt")]) == 2
    assert "only the peak of its own plan" in capfd.readouterr().err
