"""What the page computes, without a browser: `node --test` over its modules, beside numbers of Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memplan import Buffer, Pool, Problem, shapes, solve
from memplan.api.reports.page.file_page import packed_view, plan_view
from memplan.capabilities.shapes.symbolic_input import EXAMPLE
from memplan.capabilities.sizes import parse_size, size_text
from memplan.planner.symbols.problem import SymbolicProblem

UNITS = Path(__file__).with_name("page_modules.test.mjs")
TEXTS = ["4096", "1MiB", "1.5 KiB", "64kB", "64K", "0x10000", " 2 GB ", "9223372036854775807", "9223372036854775808"]
TEXTS += ["1.0001 KiB", "12 kib", "", "-1", "1,5 KiB", "1e3", "0X1f", "7 EiB", "1  B"]
HALVES = [16000, 15995, 16010, 1025536, 1047552, 1_047_000, 1024 * 1001 + 512, 1024 * 1002 + 512, 1599999]


def read(text: str) -> str | None:
    try:
        return str(parse_size(text))
    except ValueError:
        return None


def shapes_at(b: int, n: int) -> dict[str, Any]:
    """Return an answer for all values, and at some of them the sizes, the peak and the bound, by the expressions."""
    answer = shapes(SymbolicProblem.model_validate(EXAMPLE))
    (peak,), (bound,), found = answer.programs[0].peak or (), answer.bound, answer.model_dump(mode="json")
    at = {"b": b, "n": n}
    size = [int(eval(text, {}, at)) for text in answer.sizes]
    return {
        "answer": found,
        "at": f"b={b}, n={n}",
        "problem": [size[k] for k in answer.size_of],
        "peak": eval(peak, {}, at),
        "bound": eval(bound, {}, at),
    }


def test_the_modules_compute_what_they_say(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("modules are tested where node is installed")
    buffers = [
        Buffer(id=f"b{k}", size=64 if k % 3 else 2**60 + k, start=k, end=k + 3, alignment=8 if k % 2 else 1)
        for k in range(120)
    ]
    problem = Problem(buffers=buffers, pools=[Pool(name="sram")])
    view = plan_view(problem, solve(problem, time_limit_s=2))
    charted = {"kind": "chart", "points": [{"x": 1, "view": view}, {"x": 2, "view": None}]}
    sizes = [*HALVES, *(7**k for k in range(18)), *range(1000, 1100)]
    expected = {
        "sizes": [[size, size_text(size)] for size in sizes],
        "read": [[text, read(text)] for text in TEXTS],
        "packed": packed_view(charted),
        "rows": charted,
        "shapes": shapes_at(7, 300),
    }
    (tmp_path / "expected.json").write_text(json.dumps(expected), encoding="utf-8")
    assert "columns" in json.dumps(expected["packed"])
    found = subprocess.run(
        [node, "--test", str(UNITS)],
        env={**os.environ, "EXPECTED": str(tmp_path / "expected.json")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout
