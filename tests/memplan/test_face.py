"""What `memplan` offers as an import, and that it costs nothing until it is used."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys

import pytest

import memplan
from memplan.capabilities import MODULES


def test_it_offers_all_capabilities_and_no_names_but_those_of_the_stub() -> None:
    offered = {*MODULES, "Buffer", "Plan", "Pool", "Problem", "solve", "read_problem", "write_plan"}
    assert offered <= {*memplan.__all__} <= {*dir(memplan)}
    with pytest.raises(AttributeError, match="module 'memplan' has no attribute 'planned'"):
        memplan.planned  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("name", memplan.__all__)
def test_each_name_is_there_documented_and_the_same_after_a_pickle(name: str) -> None:
    value = getattr(memplan, name)
    if name != "__version__":
        assert pickle.loads(pickle.dumps(value)) is value
        assert (inspect.getdoc(value) or "").endswith((".", "```"))


def test_importing_it_loads_nothing_else() -> None:
    program = (
        "import sys; import memplan; before = {*sys.modules}; memplan.Problem;"
        "print(*sorted({'numpy', 'pydantic', 'memplan.planner'} & before), end=';');"
        "print(*(name for name in ('fastapi', 'memplan.solvers') if name in sys.modules), end='')"
    )
    found = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert found.stdout == ";"


def test_solve_has_a_signature_of_its_own() -> None:
    parameters = inspect.signature(memplan.solve).parameters
    assert next(iter(parameters)) == "problem"
    assert {"time_limit_s", "solver", "accept", "seed", "control"} <= parameters.keys()
