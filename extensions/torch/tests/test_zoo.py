"""The table of the model zoo: documents quote it correctly, interrupted runs resume, and ten rows are reproducible."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lab.zoo import table, tables
from lab.zoo.planners import PLANNERS

ROWS = table.read(table.TABLE)
TEN = (
    *("timm/resnet18", "timm/test_vit", "timm/test_byobnet", "torchvision/alexnet", "torchvision/squeezenet1_1"),
    *("torchvision/mobilenet_v2", "torchvision/vgg11", "transformers/bert-small", "transformers/t5-small"),
    "transformers/vit-small",
)


def test_documents_quote_the_figures_of_the_zoo_table() -> None:
    figures = tables.BENCHMARKS.read_text(encoding="utf-8")
    assert tables.update_benchmarks(figures, ROWS) == figures
    assert f"{table.Summary.from_rows(ROWS, PLANNERS).traced:,}" in tables.lines(ROWS)


def test_every_row_of_the_zoo_table_has_a_plan_or_a_reason() -> None:
    keys = [table.key(row) for row in ROWS]
    assert len({*keys}) == len(keys) > 0
    for row in ROWS:
        assert bool(row["peak"]) != bool(row["reason"]), row
        for end in ("", "_64"):
            assert not row[f"certificate{end}"] or row[f"checked{end}"] == "True", row
            assert all(
                int(row[name + end] or row["peak" + end]) >= int(row["bound" + end]) for name in PLANNERS if row["peak"]
            )
        assert not row["peak"] or int(row["order_bound"]) <= int(row["order_peak"]) <= int(row["order_given"])


def test_waste_is_the_relative_excess_of_a_planners_peak_over_the_plan() -> None:
    row = {"peak": "100", "bound": "100", "xla-best-fit": "125", "ggml-allocator": ""}
    assert table.waste(row, "xla-best-fit") == 0.25
    assert table.waste(row, "ggml-allocator") is None


@pytest.mark.slow
def test_rows_of_ten_models_are_reproduced_and_a_second_run_computes_none(tmp_path: Path) -> None:
    for name in ("timm", "torchvision", "transformers"):
        pytest.importorskip(name, reason=f"needs {name}")
    path = tmp_path / "zoo.csv"
    command = [sys.executable, "-m", "lab.zoo", "--table", str(path), "run", "--modes", "inference", *TEN]
    subprocess.run(command, check=True, capture_output=True, cwd=tables.ROOT)
    made = {table.key(row): row | {"cpu_s": ""} for row in table.read(path)}
    assert len(made) == len(TEN)
    again = subprocess.run(command, check=True, capture_output=True, cwd=tables.ROOT)
    assert again.stdout == b""
    recorded = {table.key(row): row | {"cpu_s": ""} for row in ROWS}
    for key, row in made.items():
        assert row["checked"] == row["checked_64"] == row["order_checked"] == "True"
        assert row == recorded.get(key, row)
