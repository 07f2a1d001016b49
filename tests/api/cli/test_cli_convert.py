"""`memplan convert`: the files that it writes, and its refusal of invalid plans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from memplan.api.cli.main import main
from memplan.extensions.files.convert.options import Target
from memplan.planner.foreign.writing import EXPORTERS

Captured = pytest.CaptureFixture[str]
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


def test_convert_refuses_an_invalid_plan_writing_no_file(
    files: tuple[str, str], tmp_path: Path, capfd: Captured
) -> None:
    (tmp_path / "plan.csv").write_text("id,offset\na,0\nb,8\n")
    assert main(["convert", *files, "--to", "c", "-o", str(tmp_path / "arena.c")]) == 2
    assert "overlap" in capfd.readouterr().err
    assert not (tmp_path / "arena.c").exists()
