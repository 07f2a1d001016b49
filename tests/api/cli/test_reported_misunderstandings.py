"""Regressions of answers that users misunderstood: each test repeats the command line of a user.

Each test failed on the version that the user ran. The underlying functions have tests in their own folders.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from memplan.api.cli.main import main
from tests.support.public_problems import FOLDER

Captured = pytest.CaptureFixture[str]
EXAMPLES = FOLDER.parent


@pytest.fixture(autouse=True)
def change_to_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write_file(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def run_plan(capfd: Captured, *arguments: str, status: int = 0) -> tuple[dict[str, Any], str]:
    assert main(["plan", *arguments, "--format", "json"]) == status
    out, err = capfd.readouterr()
    return json.loads(out), err


def test_a_csv_column_end_is_inclusive_and_a_column_upper_is_exclusive(capfd: Captured) -> None:
    rows = "a,0,1,100\nb,1,2,100\n"
    assert run_plan(capfd, write_file("ends.csv", f"id,start,end,size\n{rows}"))[0]["peak"] == 200
    assert run_plan(capfd, write_file("uppers.csv", f"id,lower,upper,size\n{rows}"))[0]["peak"] == 100
    assert main(["plan", "uppers.csv", "-o", "plan.json"]) == 0
    assert main(["verify", "ends.csv", "plan.json"]) == 3


def test_a_warning_reports_if_inclusive_ends_raise_the_live_peak(capfd: Captured) -> None:
    rows = "a,0,2,64\nb,2,4,64\n"
    plan, said = run_plan(capfd, write_file("ends.csv", f"id,start,end,size\n{rows}"))
    assert plan["peak"] == 128
    assert "closed-ends: " in said
    assert "128 live bytes; if it is the first time after, the peak is 64" in said
    once = write_file("once.csv", f"id,start,end,size\n{rows}c,4,4,1\n")
    apart = write_file("apart.csv", "id,start,end,size\na,0,2,64\nb,3,5,64\n")
    uppers = write_file("uppers.csv", f"id,lower,upper,size\n{rows}")
    for arguments in ((once,), (apart,), (uppers,), ("ends.csv", "--inclusive"), ("ends.csv", "--half-open")):
        assert "closed-ends" not in run_plan(capfd, *arguments)[1]


def test_a_table_whose_offsets_pin_all_buffers_is_verified_with_a_warning(capfd: Captured) -> None:
    pinned = write_file("solved.csv", "id,lower,upper,size,offset\na,0,2,100,0\nb,1,3,100,150\nc,2,4,9,0\nd,4,5,9,0\n")
    plan, said = run_plan(capfd, pinned)
    assert plan["peak"] == 250
    assert (
        "all-pinned: all 4 buffers are pinned, so nothing is left to plan; `memplan verify solved.csv --better`" in said
    )
    assert main(["verify", pinned, "--better", "--format", "json"]) == 0
    told = capfd.readouterr()
    assert json.loads(told.out)["better"]["too_much_bytes"] == 50
    assert "all buffers are pinned, so their offsets are read as the plan" in told.err


def test_buffers_are_placed_in_the_fast_pool_and_the_gap_matches_the_profile(capfd: Captured) -> None:
    rows = [{"id": k, "size": 64, "start": k, "end": k + 2} for k in range(4)]
    pools = [{"name": "fast", "size": 128}, {"name": "slow"}]
    problem = write_file("pools.json", json.dumps({"buffers": rows, "pools": pools}))
    for asked in ([], ["--profile", "speed"]):
        plan, _ = run_plan(capfd, problem, *asked)
        assert ({row["pool"] for row in plan["placements"]}, plan["status"], plan["gap"]) == ({"fast"}, "optimal", 0)
    assert run_plan(capfd, problem, "--profile", "size")[0]["peak"] == 128


def test_a_linker_script_is_refused_without_the_base_addresses_of_pools(capfd: Captured) -> None:
    problem = str(EXAMPLES / "two_memories.json")
    assert main(["plan", problem, "-o", "plan.json"]) == 0
    export = ["convert", problem, "plan.json", "-o", "plan.ld"]
    assert main(export) == 2
    said = capfd.readouterr().err
    assert "base_address must be given for a linker script, such as --capacity sram=128KiB@0x20000000" in said
    assert not Path("plan.ld").exists()
    assert main([*export, "--pool", "dtcm=128KiB@0x20000000", "--pool", "sram=64KiB@0x30000000"]) == 0
    assert "ORIGIN = 0x30000400" in Path("plan.ld").read_text()


def test_a_problem_of_mixed_alignments_is_proved_optimal_deterministically(capfd: Captured) -> None:
    lives = [(k * 7 % 20, 1 + k * 5 % 9, 1 + k * 11 % 37, 1 + k * 3 % 8) for k in range(25)]
    rows = [
        {"id": k, "start": start, "end": start + steps, "size": size, "alignment": alignment}
        for k, (start, steps, size, alignment) in enumerate(lives)
    ]
    plan, _ = run_plan(capfd, write_file("mixed.json", json.dumps({"buffers": rows})), "--deterministic")
    assert (plan["status"], plan["reproducible"]) == ("optimal", True)
