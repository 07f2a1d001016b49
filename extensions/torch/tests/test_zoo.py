"""The zoo: published networks are written as suites of `memplan bench`, in which the recorded peaks are found again."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from memplan import solve
from memplan.files import read_problem
from memplan.programs.files import read_graph
from memplan.programs.operations.order_check import peak_of

ROOT = Path(__file__).parents[3]
TEN = (
    *("timm/resnet18", "timm/test_vit", "timm/test_byobnet", "torchvision/alexnet", "torchvision/squeezenet1_1"),
    *("torchvision/mobilenet_v2", "torchvision/vgg11", "transformers/bert-small", "transformers/t5-small"),
    "transformers/vit-small",
)


@pytest.mark.slow
def test_ten_networks_are_written_with_the_recorded_peaks(tmp_path: Path) -> None:
    for name in ("timm", "torchvision", "transformers"):
        pytest.importorskip(name, reason=f"needs {name}")
    command = [sys.executable, "-m", "lab.zoo", str(tmp_path), *TEN, "--modes", "inference"]
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    with (ROOT / "lab" / "zoo" / "zoo.csv").open(newline="", encoding="utf-8") as file:
        recorded = {f"{row['source']}-{row['model']}-{row['mode']}": row for row in csv.DictReader(file)}
    written = sorted((tmp_path / "plans").iterdir())
    assert len(written) == len(TEN)
    for path in written:
        graph = read_graph(str(tmp_path / "graphs" / f"{path.stem}.json"))
        plan, row = solve(read_problem(str(path))), recorded.get(path.stem, {})
        assert plan.status == "optimal"
        assert str(plan.peak) == row.get("peak", str(plan.peak))
        assert peak_of(graph, range(len(graph.ops))) == int(row.get("order_given") or plan.peak or 0)
