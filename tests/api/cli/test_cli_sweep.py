"""`memplan sweep`: its tables for programs and people, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memplan.api.cli.main import main

PROBLEM = (
    b'{"buffers": [{"id": "a", "size": 64, "start": 0, "end": 3}, {"id": "b", "size": 32, "start": 2, "end": 5}],'
    b' "pools": [{"name": "sram", "size": 32}, {"name": "dram", "cost": 1}], "objective": "cost"}'
)
ONE_POOL = (
    b'{"buffers": [{"id": "a", "size": 64, "start": 0, "end": 3}, {"id": "b", "size": 32, "start": 2, "end": 5}]}'
)

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def problem(tmp_path: Path) -> str:
    path = tmp_path / "two.json"
    path.write_bytes(PROBLEM)
    return str(path)


@pytest.fixture
def single_pool_file(tmp_path: Path) -> str:
    path = tmp_path / "one.json"
    path.write_bytes(ONE_POOL)
    return str(path)


def test_sweep_writes_csv_and_a_readable_table(problem: str, tmp_path: Path, capfd: Captured) -> None:
    file = tmp_path / "sweep.csv"
    assert main(["sweep", problem, "--size", "sram=64B:0.125KiB:64", "-o", str(file), "-q"]) == 0
    assert capfd.readouterr() == ("", "")
    assert file.read_text().splitlines() == [
        "size,status,cost,cost_lower_bound,peak,lower_bound,sram used,sram lower bound,dram used,dram lower bound",
        "64,optimal,32.0,32.0,96,96,64,64,32,32",
        "128,optimal,0.0,0.0,96,96,96,96,0,0",
    ]
    assert main(["sweep", problem, "--size", "sram=64:64:1", "--format", "table"]) == 0
    assert [line.split() for line in capfd.readouterr().out.splitlines()] == [
        ["size", "of", "sram", "status", "cost", "at", "least", "sram", "used", "dram", "used"],
        ["64", "B", "optimal", "32", "32", "64", "32"],
    ]


def test_sweep_exits_with_1_if_the_problem_fits_at_no_size(single_pool_file: str, capfd: Captured) -> None:
    assert main(["sweep", single_pool_file, "--size", "default=0:95:95"]) == 1
    assert [row["status"] for row in json.loads(capfd.readouterr().out)["points"]] == ["infeasible", "infeasible"]


def test_sweep_refuses_repeated_pools_and_too_many_combinations(problem: str, capfd: Captured) -> None:
    assert main(["sweep", problem, "--size", "sram=1:1:1", "--size", "sram=1:1:1"]) == 2
    assert 'size: must be given once for each pool, got "sram" again' in capfd.readouterr().err
    assert main(["sweep", problem, "--size", "sram=1:500:1", "--size", "dram=1:3:1"]) == 2
    assert "size: must have at most 1000 combinations, got 1500" in capfd.readouterr().err


def test_sweep_omits_table_columns_that_add_no_information(single_pool_file: str, capfd: Captured) -> None:
    assert main(["sweep", single_pool_file, "--size", "96:96:1", "--format", "table"]) == 0
    heading = capfd.readouterr().out.splitlines()[0].split()
    assert heading == ["size", "of", "default", "status", "default", "used"]
