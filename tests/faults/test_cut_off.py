"""A worker on a host that the network loses."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_PROBE = "ip link set lo up && ip link add hub0 type veth peer name eth0"
_PLACE = Path(__file__).parents[2]


def can_make_hosts() -> bool:
    if any(shutil.which(program) is None for program in ("unshare", "nsenter", "ip")):
        return False
    return subprocess.run(["unshare", "--net", "sh", "-c", _PROBE], check=False, capture_output=True).returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not can_make_hosts(), reason="network namespaces cannot be made here")
def test_what_a_worker_that_is_cut_off_had_is_solved_by_another(tmp_path: Path) -> None:
    command = ["unshare", "--net", sys.executable, "-m", "tests.support.cut_off", str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=_PLACE)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["jobs"] == {"succeeded": 4}
