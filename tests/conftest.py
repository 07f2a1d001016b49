"""Set-up of all tests: hypothesis profiles, build of the core, scheduling in groups, and the time limit."""

import fcntl
import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from memplan.solvers.core import build as core
from tests.support.depth import DEPTH, is_late

if TYPE_CHECKING:
    from tests.support.server import RunningServer

_EXAMPLES = 25
_ON_LOADED_MACHINES = [HealthCheck.too_slow]
settings.register_profile(
    "explore", max_examples=_EXAMPLES * DEPTH, deadline=None, print_blob=True, suppress_health_check=_ON_LOADED_MACHINES
)
settings.register_profile("gate", settings.get_profile("explore"), derandomize=True, database=None)
settings.load_profile("gate")
# The gate draws the same few cases each time; `--hypothesis-profile=explore` draws new ones, `lab.deep` many of them.


def pytest_sessionstart() -> None:
    """Build the core once, before the test processes start.

    Warnings of solver faults become errors in processes that tests start, as `filterwarnings` does for the tests.
    """
    os.environ.setdefault("PYTHONWARNINGS", "error:a fault of solver")
    package = core.HERE.parents[1]
    if all(map(core.is_built, core.folders(package))):
        return
    folder = os.open(core.HERE, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        core.build(package)
    finally:
        os.close(folder)


@pytest.fixture(autouse=True, scope="module")
def _only_one_highs_is_loaded() -> Iterator[None]:
    """Fail if a module loads a HiGHS library into the test process: OR-Tools could no longer be loaded there."""
    before = _foreign_highs()
    yield
    assert _foreign_highs() == before, "an engine is for a process of its own: see tests/support/engine_batch.py"


def _foreign_highs() -> set[str]:
    maps = Path("/proc/self/maps")
    rows = maps.read_text().splitlines() if maps.exists() else []
    return {row[row.index("/") :] for row in rows if "/libhighs" in row and "/ortools/" not in row}


@pytest.fixture(scope="session")
def server() -> "Iterator[RunningServer]":
    """A server for all tests of a process that need no other settings, because each start takes 2 s of CPU."""
    from memplan.api.settings import Settings
    from tests.support.server import run_server

    with run_server(Settings(max_body_bytes=1_000_000)) as found:
        yield found


_ROOT = Path(__file__).parents[1]
_WAITING = {
    "kills": ("tests/faults",),
    "one after the other": (
        *("tests/api/workers", "tests/packaging/test_deployment.py", "tests/api/cli/test_cli_keys.py"),
        *("tests/solvers/portfolio/test_subprocess_solver.py", "tests/solvers/portfolio/test_watchdog.py"),
        *("tests/api/cli/test_cli_process.py", "tests/api/http/test_limits.py"),
        "extensions/bench/tests/test_bench_measuring.py",
    ),
}
"""Tests that use clocks or many processes, and mostly wait. Each group runs in one process, before other tests."""
_GROUPS = _WAITING | {
    "exports": ("tests/runtimes/executorch/inside",),
    "seeds": ("tests/seeds",),
    "pages": ("extensions/page/tests/test_page",),
    "stores": (
        "tests/api/store",
        "tests/api/jobs",
        "tests/api/service/test_plan_cache.py",
        "tests/api/http/test_keys.py",
    ),
}
"""Groups of tests that share something slow to make: exported models, a service, a browser, a PostgreSQL server. Each
group runs in one process."""


class _Scheduling(LoadScopeScheduling):  # type: ignore[misc]  # which has no types
    """Run each group of tests in one process, and tests without a group in any free process.

    The marks of pytest-xdist 3.8 have no effect under pytest 9.2, where marks no longer change the names of tests.
    """

    def _split_scope(self, nodeid: str) -> str:
        return _group(nodeid.partition("::")[0]) or nodeid


@functools.cache
def _group(module: str) -> str | None:
    """Return the group of a module's tests; tests that share a module's fixture are a group by themselves."""
    for name, beginnings in _GROUPS.items():
        if module.startswith(beginnings):
            return name
    return module if 'scope="module"' in (_ROOT / module).read_text(encoding="utf-8") else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    return _Scheduling(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """Register the skipping of late tests also for tests in other folders, where hooks of this module do not run."""
    config.pluginmanager.register(_Time())


class _Time:
    """Skips tests after the time limit of the gate: some machines are thirty times slower than others.

    Long tests begin first, and may use only half of the time: the short tests, of the domain and of the searches, check
    most of the promises.
    """

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if is_late(is_long=_turn(item) < _LAST_TURN):
            pytest.skip("not run: the time of the gate was over")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let each of several processes begin with long tests, so that none ends long after the others."""
    if hasattr(config, "workerinput"):
        items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    group = _group(item.nodeid.partition("::")[0])
    if group in _WAITING:
        return 0
    return 1 if group is not None or item.get_closest_marker("slow") else _LAST_TURN


_LAST_TURN = 2
