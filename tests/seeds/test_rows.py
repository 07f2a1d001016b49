"""Each row of the source documents has a test named after it (`test_s<document>_<row>_...`), and vice versa."""

import ast
import json
import re
from pathlib import Path

HERE = Path(__file__).parent
ROWS = json.loads((HERE / "rows.json").read_text(encoding="utf-8"))
"""The requirement sentence of each row, by the name of the row (such as `S0.12`)."""
INSIDE_TVM = [*(f"S0.{k}" for k in (3, 4, 5, 12, 23, 24, 33)), *(row for row in ROWS if row.startswith(("S2.", "S4.")))]
"""Rows with an additional test that runs inside TVM, where its wheel is installed."""


def test_each_source_row_has_a_test_and_each_test_a_source_row() -> None:
    tested: dict[str, list[str]] = {}
    for path in sorted(HERE.glob("test_s[0-4]*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                match = re.match(r"test_s(\d)_(\d\d)_", node.name)
                row = f"S{match[1]}.{int(match[2])}" if match else "none"
                assert path.name.startswith(f"test_s{row[1]}"), f"{path.name}: {node.name}"
                tested.setdefault(row, []).append(node.name)
    assert set(tested) == set(ROWS)
    assert len(ROWS) == 109


def test_source_rows_about_tvm_have_a_test_that_runs_inside_tvm() -> None:
    tests = (HERE.parents[1] / "extensions/tvm/tests/test_source_rows.py").read_text(encoding="utf-8")
    names = re.findall(r"^def test_s(\d)_(\d\d)_", tests, re.MULTILINE)
    assert [f"S{source}.{int(row)}" for source, row in names] == INSIDE_TVM
