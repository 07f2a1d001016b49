"""Each row of the source documents has a test, whose name begins with the row, and each test here is of a row."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

HERE = Path(__file__).parent
ROWS = json.loads((HERE / "rows.json").read_text(encoding="utf-8"))
"""From a row to its sentence."""


def test_each_row_has_a_test_and_each_test_a_row() -> None:
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
