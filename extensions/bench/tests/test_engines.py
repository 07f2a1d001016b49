"""The command that measures engines alone, and resumes an interrupted measurement."""

from __future__ import annotations

import json
from pathlib import Path

from lab.engines import PAGE, TABLES, Measurement, bound
from lab.support.engine_alone import EngineRun
from lab.support.kept_results import KeptResults


def test_the_page_has_a_section_for_each_table() -> None:
    text = PAGE.read_text()
    assert all(f"<!-- engines: {name} -->\n" in text for name in TABLES)
    assert text.count("<!-- end -->") == len(TABLES)


def test_rows_measured_with_the_same_solvers_are_reused(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    assert KeptResults(file).value_of(["cbc", 1], lambda: [1.5]) == [1.5]
    assert KeptResults(file).value_of(["cbc", 1], lambda: [2.5]) == [1.5]
    row = json.loads(file.read_text()) | {"tree": "of other solvers"}
    file.write_text(json.dumps(row) + "\n")
    assert KeptResults(file).value_of(["cbc", 1], lambda: [2.5]) == [2.5]


def test_a_claim_that_a_better_plan_refutes_is_no_proof(tmp_path: Path) -> None:
    results = KeptResults(tmp_path / "results.jsonl")
    problem = "perfect:n=20,steps=8,seed=1"
    for solver, best in (("cbc", 1025.0), ("highs", 1024.0)):
        run: dict[str, object] = dict.fromkeys(EngineRun.__dataclass_fields__, 0.5)
        run |= {"solver": solver, "problem": problem, "n": 20, "start": [1026.0], "best": [best], "bound": [1024.0]}
        results.value_of([solver, problem, 0, 9.0], run.copy)
    lines = bound(Measurement(results, ("cbc", "highs"), 9.0, {"tight020"}, 1, 0))
    assert lines[2:] == [
        "| tight020 | 20 | 1,026 | 1,024 | 1,025 | 0.5 |",
        "| proved of 1 |  |  |  | 0 | 1 |",
    ]
