"""Plans for several memories that are never worse than plans of related problems; see `lab.joins`."""

import subprocess
import sys

import pytest

from tests.support.processes import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.drawn]


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 91, 148, 5020, 5022, 5024])
def test_plans_with_two_features_cost_no_more_than_plans_of_related_problems(seed: int) -> None:
    # lab.joins loads highspy, which OR-Tools cannot share a process with.
    joins = [sys.executable, "-m", "lab.joins", "1", str(seed)]
    done = subprocess.run(joins, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
