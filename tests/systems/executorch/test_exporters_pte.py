"""ExecuTorch programs with another memory plan: read back as planned, all else as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memplan.planner.errors import FormatError
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.model.plan import Plan
from memplan.solvers.portfolio.solve import solve
from memplan.systems.executorch.file import read_methods
from memplan.systems.layout import VerifiedLayout, lay_out
from memplan.systems.model_options import ModelOptions
from memplan.systems.reading import read_model
from memplan.systems.writing import export
from tests.support.layouts import one_pool

MODELS = Path(__file__).parents[2] / "models"
PROGRAMS = sorted(path.name for path in MODELS.glob("*.pte"))


def planned(name: str, **options: Any) -> tuple[bytes, VerifiedLayout]:
    """Return a program and a plan of it with all buffers at other places: 48 bytes higher, where nothing is pinned."""
    data = (MODELS / name).read_bytes()
    problem = read_model(data, name, ModelOptions(**options)).problem
    plan = solve(problem)
    higher = [{"id": row.id, "pool": row.pool, "offset": row.offset + 48} for row in plan.placements]
    return data, lay_out(problem, Plan.model_validate({"placements": higher}), data)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_read_back_with_its_plan_and_as_it_was_otherwise(name: str) -> None:
    data, layout = planned(name, views="alias")
    written = export("pte", layout, "program")[""]
    before, after = read_model(data, name), read_model(written, name)
    assert problem_hash(before.problem) == problem_hash(after.problem)
    assert after.own_peak == layout.pools[0].extent
    assert after.own_plan is not None
    said = {row.id: row.offset for row in after.own_plan.placements}
    assert said == {row.id: row.offset for row in layout.buffers if row.id in said}
    for old, new in zip(read_methods(data), read_methods(written), strict=True):
        assert (old.chains, old.inputs, old.outputs, old.lists) == (new.chains, new.inputs, new.outputs, new.lists)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_follows_the_program_keeps_its_bytes_and_its_alignment(name: str) -> None:
    data, layout = planned(name, views="alias")
    written = export("pte", layout, "program")[""]
    old, new = (int.from_bytes(content[24:32], "little") for content in (data, written))
    assert data[old:] == written[new:]
    assert (new - old) % min(4096, old & -old) == 0


def test_only_a_program_gets_a_plan() -> None:
    with pytest.raises(FormatError, match=r"problem: must be the program, a \.pte file, for pte"):
        export("pte", one_pool({}), "program")


def test_a_program_has_no_more_memories_than_it_was_made_with() -> None:
    _, layout = planned("thirds.pte", views="alias")
    two = replace(layout, pools=layout.pools * 2)
    with pytest.raises(FormatError, match=r"problem.pools: must be at most the memories of the program \(1\)"):
        export("pte", two, "program")


def test_the_runtime_runs_a_program_with_its_plan(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="programs are run where executorch is installed")
    runtime = pytest.importorskip("executorch.runtime", reason="programs are run where executorch is installed")
    _, layout = planned("thirds.pte", views="alias")
    path = tmp_path / "planned.pte"
    path.write_bytes(export("pte", layout, "program")[""])
    made = []
    for source in (MODELS / "thirds.pte", path):
        method = runtime.Runtime.get().load_program(str(source)).load_method("forward")
        sizes = [method.metadata.input_tensor_meta(k).sizes() for k in range(method.metadata.num_inputs())]
        made.append(method.execute([torch.arange(float(torch.Size(size).numel())).reshape(size) for size in sizes]))
    assert all(torch.equal(a, b) for a, b in zip(*made, strict=True))
