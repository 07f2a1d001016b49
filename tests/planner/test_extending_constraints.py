"""The guide in docs/extending.md, followed: a toy constraint kind, added to a copy of the packages, holds in plans."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.house_copies import Patch, before, copy_packages, extend, guide

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
MOST_FILES = 12
TOP = '''"""`top`: the offset of a buffer is at most so large."""

from __future__ import annotations

from typing import Any

import numpy as np

from memplan.planner.model.buffer_table import ABSENT
from memplan.planner.model.constraints.kept import KeptBuffers


def columns(kept: KeptBuffers) -> dict[str, Any]:
    """Return `top`, in bytes; ABSENT where there is none."""
    tops = kept.problem.buffers.tops
    top = np.full(len(kept.problem.buffers), ABSENT)
    top[list(tops)] = list(tops.values())
    return {"top": top[kept.source]}
'''
BELOW_TOP = '''

def _below_top(instance: Instance, order: I64, offset: I64) -> I64:
    """Leave out the buffers that lie above their top."""
    top = instance.top[order]
    return column(np.where((top >= 0) & (offset > top), ABSENT, offset))
'''
MAPPING = "    tops: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))\n"
COLUMN = '    top: Annotated[I64, Column(Axis.BUFFER, "top", Scale.OPTIONAL, dummy=ABSENT)]\n'

PATCH: Patch = {
    "planner/model/rows.py": [before("    forbid_pools: Annotated", "    top: Bytes | None = None\n")],
    "planner/model/buffer_table.py": [
        before("    forbidden: Mapping", MAPPING),
        before('    "forbid_pools": ("forbidden"', '    "top": ("tops", None),\n'),
    ],
    "planner/model/constraints/top.py": [("", TOP)],
    "planner/model/constraints/kinds.py": [
        before("    together,\n)", "    top,\n"),
        before(
            '    ConstraintKind(("buffers.pages",)', '    ConstraintKind(("buffers.tops",), columns=top.columns),\n'
        ),
    ],
    "planner/verify/violation.py": [before('    "pin-missed",\n', '    "above-top",\n')],
    "planner/verify/verifier.py": [
        before(
            '    yield "pin-missed"',
            "    top = np.array([table.tops.get(i, 2**62) for i in here.tolist()], dtype=np.int64)\n"
            '    yield "above-top", offset > top, "must be at its top or below"\n',
        )
    ],
    "planner/instance/instance.py": [
        before("    unplaceable: Annotated", COLUMN),
        before('    "relative": lambda', '    "top": lambda instance: bool((instance.top >= 0).any()),\n'),
    ],
    "solvers/portfolio/registry.py": [
        (
            f'"clearances"}})\n"""The constraint kinds that {who}',
            f'"clearances", "top"}})\n"""The constraint kinds that {who}',
        )
        for who in ("packers honour", "the models of engines state")
    ],
    "solvers/formulation/offset_ranges.py": [
        before(
            "            if slack >= 0:\n",
            "            slack = min(slack, int(instance.top[i]) - lowest[i]) if instance.top[i] >= 0 else slack\n",
        )
    ],
    "solvers/packing/packer.py": [
        ("return column(found)", "return _below_top(self.instance, order, column(found))"),
        ("", BELOW_TOP),
    ],
    "tests/support/constrained_problems.py": [
        ('"together")', '"together", "top")'),
        before("    free = [row", '    for row in rows if "top" in features else ():\n        row["top"] = 60\n'),
    ],
}
SOLVE = """
from memplan import OptionError, Problem, solve, verify
from memplan.planner.model.placement_table import PlacementTable
from memplan.capabilities.explain.reasons.explain import explain
from memplan.capabilities.explain.reasons.options import ExplainOptions

problem = Problem.model_validate_json(
    '{"buffers": [{"id": 0, "size": 8, "start": 0, "end": 4}, {"id": 1, "size": 4, "start": 0, "end": 4, "top": 3}]}'
)
assert problem == Problem.model_validate_json(problem.model_dump_json(exclude_defaults=True))
plan = solve(problem, solver="cp-sat", time_limit_s=20)
assert plan.status == "optimal" and plan.peak == 12, plan
assert {row.id: row.offset for row in plan.placements} == {0: 4, 1: 0}
assert verify(problem, plan).valid
moved = plan.model_copy(update={"placements": PlacementTable.from_rows(
    [row.model_copy(update={"offset": {0: 0, 1: 8}[row.id]}) for row in plan.placements])})
assert [violation.rule for violation in verify(problem, moved).violations] == ["above-top"]
both = [row | {"top": 2} for row in problem.model_dump(mode="json", exclude_defaults=True)["buffers"]]
tight = Problem.model_validate({"buffers": both, "pools": [{"size": 90}]})
found = explain(tight, solve_time_limit_s=60, options=ExplainOptions(time_limit_s=90))
assert [(rule.rule, rule.value) for rule in found.rules] == [("top", 2)] * 2, found
try:
    solve(problem, solver="exact")
except OptionError as error:
    assert str(error) == "solver: exact cannot do top", error
else:
    raise AssertionError("exact took a kind that its row does not name")
print("held")
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of what solves, with the toy kind added."""
    folder = tmp_path_factory.mktemp("extended")
    copy_packages(folder, "tests/support")
    for name in ("pyproject.toml", "tests/planner/instance/test_columns.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    extend(folder, PATCH)
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, text=True, capture_output=True, check=False
    )


def columns_are_right(folder: Path) -> subprocess.CompletedProcess[str]:
    return run(folder, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "tests/planner/instance/test_columns.py")


def test_the_guide_lists_the_files_of_the_toy_kind_and_they_are_few() -> None:
    listed = guide("How to add a constraint kind")
    assert len(PATCH) + 1 <= MOST_FILES  # with docs/formats.md
    assert {name.replace("constraints/top.py", "constraints/KIND.py") for name in PATCH} <= listed
    assert all((ROOT / name).exists() for name in listed if "KIND" not in name)


def test_a_toy_kind_holds_from_the_file_to_the_plan(copy: Path) -> None:
    done = run(copy, "-c", SOLVE)
    assert done.stdout == "held\n", done.stderr


def test_the_columns_of_the_toy_kind_are_right(copy: Path) -> None:
    done = columns_are_right(copy)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("wrong", ["    top: I64\n", COLUMN.replace("BUFFER", "WHOLE")], ids=["forgotten", "axis"])
def test_a_column_that_is_forgotten_or_declared_wrongly_is_found(copy: Path, wrong: str) -> None:
    file = copy / "planner/instance/instance.py"
    right = file.read_text()
    file.write_text(right.replace(COLUMN, wrong))
    try:
        done = columns_are_right(copy)
    finally:
        file.write_text(right)
    assert done.returncode != 0
    assert "top" in done.stdout
