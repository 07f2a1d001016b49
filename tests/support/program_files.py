"""Programs in files, solved by engines in child processes, and marks that skip tests without an engine."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PACKAGES = {"cbc": "pulp", "highs": "highspy", "cp-sat": "ortools"}
READ_BY_HIGHS = """
import highspy, json, sys
objectives = []
for path in sys.argv[1:]:
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(path) == highspy.HighsStatus.kOk, path
    highs.run()
    is_optimal = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    objectives.append(highs.getInfo().objective_function_value if is_optimal else None)
print(json.dumps(objectives))
"""
READ_BY_CBC = """
import json, pulp, re, subprocess, sys
cbc = pulp.PULP_CBC_CMD().path
objectives = []
for path in sys.argv[1:]:
    said = subprocess.run([cbc, path, "-solve"], capture_output=True, text=True).stdout
    assert "read with 0 errors" in said or path.endswith(".lp"), said
    found = re.search(r"(?:^Objective value:|Optimal - objective value) +(\\S+)$", said, re.MULTILINE)
    objectives.append(float(found.group(1)) if found and "Optimal" in said else None)
print(json.dumps(objectives))
"""


def read_back(program: str, files: list[Path]) -> list[float | None]:
    child = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *map(str, files)], stdout=subprocess.PIPE, check=True
    )
    return list(json.loads(child.stdout))


def needs_engine(solver: str) -> None:
    """Skip the test if the package of a solver is missing; the package is not imported here."""
    if solver in PACKAGES and find_spec(PACKAGES[solver]) is None:
        pytest.skip("needs the extra engines")
