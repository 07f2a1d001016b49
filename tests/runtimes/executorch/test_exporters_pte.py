"""Tests of the writer of ExecuTorch programs with another plan, and of ExecuTorch's planners."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memplan.planner.errors import FormatError
from memplan.planner.foreign.layout import VerifiedLayout, lay_out
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import read_model
from memplan.planner.foreign.writing import export
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.runtimes.executorch.file import read_methods
from memplan.solvers.portfolio.solve import solve
from tests.support import public_problems
from tests.support.layouts import single_pool_layout

MODELS = Path(__file__).parents[3] / "tests" / "models"
PROGRAMS = sorted(path.name for path in MODELS.glob("*.pte"))


def planned_program(name: str, **options: Any) -> tuple[bytes, VerifiedLayout]:
    """Return a program and a plan of it with all buffers at other places: 48 bytes higher, where nothing is pinned."""
    data = (MODELS / name).read_bytes()
    problem = read_model(data, name, ModelOptions(**options)).problem
    higher = [{"id": row.id, "pool": row.pool, "offset": row.offset + 48} for row in solve(problem).placements]
    return data, lay_out(problem, Plan(placements=higher), data)


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_exported_program_reads_back_with_its_plan_and_is_otherwise_unchanged(name: str) -> None:
    data, layout = planned_program(name, views="alias")
    written = export("pte", layout, "program")[""]
    before, after = read_model(data, name), read_model(written, name)
    assert problem_hash(before.problem) == problem_hash(after.problem)
    assert after.own_peak == layout.pools[0].extent
    said = {row.id: row.offset for row in after.own_plan.placements}
    assert said == {row.id: row.offset for row in layout.buffers if row.id in said}
    for old, new in zip(read_methods(data), read_methods(written), strict=True):
        assert (old.chains, old.inputs, old.outputs, old.lists) == (new.chains, new.inputs, new.outputs, new.lists)
    # Segments after the program keep their bytes and alignment.
    at, moved = (int.from_bytes(content[24:32], "little") for content in (data, written))
    assert data[at:] == written[moved:]
    assert (moved - at) % min(4096, at & -at) == 0


def test_write_pte_refuses_other_files_and_more_pools_than_the_program_has_memories() -> None:
    with pytest.raises(FormatError, match=r"must be an ExecuTorch program \(a \.pte file\) if the target is pte"):
        export("pte", single_pool_layout({}), "program")
    _, layout = planned_program("thirds.pte", views="alias")
    with pytest.raises(FormatError, match=r"problem.pools: must not exceed the memories of the program \(1\)"):
        export("pte", replace(layout, pools=layout.pools * 2), "program")


def test_executorch_runs_a_program_with_an_exported_plan(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="programs are run where executorch is installed")
    runtime = pytest.importorskip("executorch.runtime", reason="programs are run where executorch is installed")
    _, layout = planned_program("thirds.pte", views="alias")
    path = tmp_path / "planned.pte"
    path.write_bytes(export("pte", layout, "program")[""])
    made = []
    for source in (MODELS / "thirds.pte", path):
        method = runtime.Runtime.get().load_program(str(source)).load_method("forward")
        sizes = [method.metadata.input_tensor_meta(k).sizes() for k in range(method.metadata.num_inputs())]
        made.append(method.execute([torch.arange(float(torch.Size(size).numel())).reshape(size) for size in sizes]))
    assert all(torch.equal(a, b) for a, b in zip(*made, strict=True))


RECORDED = public_problems.read_index("executorch")


def offsets(problem: dict[str, object], planner: str = "greedy") -> dict[int | str, tuple[str, int]]:
    plan = solve(Problem.model_validate(problem), solver=f"reference:executorch-{planner}")
    assert plan.explanation is None
    return {row.id: (row.pool, row.offset) for row in plan.placements}


def lives(name: str, size: int, start: int, end: int, **more: object) -> dict[str, object]:
    return {"id": name, "size": size, "start": start, "end": end, **more}


def test_the_greedy_planner_places_a_tensor_of_an_object_above_its_conflicts() -> None:
    rows = [lives("first", 64, 0, 2), lives("left", 24, 2, 5), lives("right", 16, 3, 4)]
    assert offsets({"buffers": rows}) == {"first": ("default", 0), "left": ("default", 0), "right": ("default", 24)}


def test_a_shared_object_of_the_greedy_planner_never_grows() -> None:
    rows = [lives("first", 10, 0, 1), lives("left", 6, 1, 2), lives("right", 6, 1, 2)]
    plan = solve(Problem(buffers=rows), solver="reference:executorch-greedy")
    assert (plan.peak, plan.lower_bound, plan.status, plan.stop_reason) == (16, 12, "feasible", None)
    assert plan.gap == pytest.approx(1 / 3)


def test_each_memory_has_separate_objects_and_tensors_without_a_memory_use_the_first() -> None:
    rows = [lives("a", 8, 0, 1, pools=["slow"]), lives("b", 8, 0, 1), lives("c", 4, 0, 1, pools=["slow"])]
    problem = {"buffers": rows, "pools": [{"name": "fast"}, {"name": "slow"}]}
    assert offsets(problem) == {"a": ("slow", 0), "b": ("fast", 0), "c": ("slow", 8)}


def test_a_view_keeps_its_buffer_alive_and_is_not_placed_separately() -> None:
    rows = [lives("base", 16, 0, 1), lives("view", 8, 3, 4, alias_of="base", alias_offset=8), lives("c", 8, 3, 4)]
    assert offsets({"buffers": rows}) == {"base": ("default", 0), "view": ("default", 8), "c": ("default", 16)}


def test_the_naive_planner_shares_no_bytes() -> None:
    rows = [lives("a", 10, 0, 1), lives("b", 0, 1, 2), lives("c", 20, 2, 3)]
    problem = {"buffers": rows, "pools": [{"alignment": 16}]}
    assert offsets(problem, "naive") == {"a": ("default", 0), "b": ("default", 16), "c": ("default", 16)}


@pytest.mark.parametrize("planner", ["greedy", "naive"])
@pytest.mark.parametrize("row", RECORDED, ids=lambda row: row["file"])
def test_peaks_of_real_models_equal_the_recorded_peaks(row: dict[str, dict[str, int]], planner: str) -> None:
    plan = solve(public_problems.problem(f"executorch/{row['file']}"), solver=f"reference:executorch-{planner}")
    assert plan.peak == row["peer_peaks"][f"executorch_{planner}"]


def test_banks_are_filled_in_order_after_the_tensors_that_may_use_only_one_bank() -> None:
    rows = [lives("a", 8, 0, 2), lives("b", 8, 1, 3), lives("c", 4, 2, 4), lives("d", 6, 0, 4, pools=["fast"])]
    pools = [{"name": "fast", "size": 14}, {"name": "slow", "size": 8}]
    problem: dict[str, object] = {"buffers": rows, "pools": pools}
    assert offsets(problem, "banked-greedy") == {"d": ("fast", 0), "b": ("fast", 6), "a": ("slow", 0), "c": ("slow", 0)}


def test_banked_greedy_equals_greedy_for_a_single_bank() -> None:
    rows = [lives(str(k), 3 + 7 * k % 11, k % 5, k % 5 + 1 + k % 3) for k in range(20)]
    assert offsets({"buffers": rows}, "banked-greedy") == offsets({"buffers": rows})
