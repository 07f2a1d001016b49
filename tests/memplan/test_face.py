"""What `memplan` offers as an import, and that it costs nothing until it is used."""

from __future__ import annotations

import ast
import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import memplan
from memplan.capabilities import MODULES, python_name

OFFERED = sorted(
    [
        "select_fields",
        "Application",
        "BankUse",
        "Buffer",
        "CascadeAnswer",
        "CascadeOptions",
        "CertifyOptions",
        "CheckOptions",
        "Certificate",
        "CompareOptions",
        "Control",
        "ConvertOptions",
        "Converted",
        "ExplainAnswer",
        "ExplainOptions",
        "Explanation",
        "DeployOptions",
        "Deployment",
        "ExportOptions",
        "Exported",
        "FileError",
        "FormatError",
        "ImportAnswer",
        "ImportCallOptions",
        "InputError",
        "Verdict",
        "VerifyOptions",
        "InvalidPlanError",
        "HeapsAnswer",
        "HeapsOptions",
        "LivenessAnswer",
        "LivenessOptions",
        "MemplanError",
        "ModelComparison",
        "ObjectsAnswer",
        "ObjectsOptions",
        "ObjectsProblem",
        "OffsetMod",
        "OperationGraph",
        "OperationsError",
        "OptionError",
        "OrderAnswer",
        "OrderOptions",
        "OrderResult",
        "PlacedOrder",
        "Placement",
        "Plan",
        "PlanError",
        "PlanOptions",
        "Pool",
        "Problem",
        "ProblemError",
        "Progress",
        "RecomputeFrontier",
        "Recomputed",
        "Relative",
        "Repairs",
        "Change",
        "Sweep",
        "ScheduleAnswer",
        "ScheduleOptions",
        "ScheduleProblem",
        "Shadow",
        "ShapesAnswer",
        "ShapesLimits",
        "ShapesOptions",
        "SymbolicOffsets",
        "VerifiedShapes",
        "SolveControl",
        "SweepOptions",
        "SymbolicProblem",
        "Target",
        "Violation",
        "WhatIf",
        "__version__",
        "certify_order",
        "infeasible_core",
        "order_and_place",
        "order_operations",
        "read_graph",
        "read_plan",
        "read_problem",
        "recompute_frontier",
        "solve",
        "write_plan",
        "write_problem",
        *map(python_name, MODULES),
    ]
)


def test_it_offers_these_names_and_no_others() -> None:
    assert memplan.__all__ == OFFERED
    assert set(OFFERED) <= set(dir(memplan))
    with pytest.raises(AttributeError, match="module 'memplan' has no attribute 'planned'"):
        memplan.planned  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("name", OFFERED)
def test_each_name_is_there_documented_and_the_same_after_a_pickle(name: str) -> None:
    value = getattr(memplan, name)
    if name != "__version__":
        assert pickle.loads(pickle.dumps(value)) is value
        assert (inspect.getdoc(value) or "").endswith((".", "```"))


def test_type_checkers_are_told_the_modules_that_names_come_from() -> None:
    source = ast.parse(Path(memplan.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(source) if isinstance(node, ast.ImportFrom) and node.level == 0]
    told = {name.name: node.module for node in imports for name in node.names if name.asname}
    assert told == {name: f"memplan.{module}" for name, module in memplan._MODULE_OF.items()}


def test_importing_it_loads_nothing_else() -> None:
    program = (
        "import sys; import memplan; before = {*sys.modules}; memplan.Problem;"
        "print(*sorted({'numpy', 'pydantic', 'numba', 'memplan.planner'} & before), end=';');"
        "print(*(name for name in ('numba', 'fastapi', 'memplan.solvers') if name in sys.modules), end='')"
    )
    found = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert found.stdout == ";"


def test_solve_has_a_signature_of_its_own() -> None:
    parameters = inspect.signature(memplan.solve).parameters
    assert next(iter(parameters)) == "problem"
    assert {"time_limit_s", "solver", "accept", "seed", "control"} <= parameters.keys()
