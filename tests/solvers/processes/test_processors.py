"""How many processors a process may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memplan.solvers.processes.threads import processors


@pytest.mark.parametrize(
    ("files", "most"),
    [
        ({"cpu.max": "100000 100000"}, 1),
        ({"cpu.max": "50000 100000"}, 1),
        ({"cpu.max": "150000 100000"}, 2),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu/cpu.cfs_quota_us": "100000", "cpu/cpu.cfs_period_us": "100000"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({"cpu.max": "of another kind"}, None),
        ({}, None),
    ],
)
def test_the_quota_of_a_container_is_the_most(tmp_path: Path, files: dict[str, str], most: int | None) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    there = len(os.sched_getaffinity(0))
    assert processors(tmp_path) == (there if most is None else min(there, most))
