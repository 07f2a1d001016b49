"""Isolated solvers: failures of their processes become engine errors, and no process remains."""

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from memplan.solvers.portfolio.registry import SolverRow
from memplan.solvers.portfolio.subprocess_solver import EngineError, run_isolated
from memplan.solvers.search.incumbent import Search
from tests.support.depth import GRACE_S
from tests.support.isolated import instance_with_a_gap, row, search_for
from tests.support.values import require_value

HERE = Path(__file__).parents[2] / "support"


@pytest.fixture(autouse=True)
def _pid_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    monkeypatch.setenv("PYTHON_TEST_PID_FILE", str(tmp_path / "pids"))


def wait_for_pids(path: Path) -> list[int]:
    deadline = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < deadline, "the solver never started"
        time.sleep(0.01)
    return [int(word) for word in path.read_text().split()]


def run_solver(solver: SolverRow, limit_s: float = 20) -> Search:
    instance = instance_with_a_gap()
    search = search_for(instance, limit_s)
    run_isolated(solver, instance, search)
    return search


def run_until_started(solver: SolverRow, pid_file: Path) -> Search:
    """Run a solver, cancel its search once it has started, and return the search."""
    instance = instance_with_a_gap()
    search = search_for(instance, 20)

    def stop() -> None:
        wait_for_pids(pid_file)
        search.stop("cancelled")

    stopper = threading.Thread(target=stop)
    stopper.start()
    run_isolated(solver, instance, search)
    stopper.join()
    return search


def is_alive(pid: int) -> bool:
    """Return True if a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def assert_gone_soon(pids: list[int]) -> None:
    deadline = time.monotonic() + 10
    while any(map(is_alive, pids)):
        assert time.monotonic() < deadline, f"still there: {[pid for pid in pids if is_alive(pid)]}"
        time.sleep(0.01)


def test_an_isolated_solver_without_an_answer_does_not_end_the_search() -> None:
    search = run_solver(row("returns_without_a_word"))
    assert search.best is None
    assert not search.is_over


def test_plans_offered_before_the_deadline_count_and_the_process_ends(tmp_path: Path) -> None:
    search = run_until_started(row("offers_then_sleeps"), tmp_path / "pids")
    assert search.best is not None
    assert (search.best.score, search.best.by) == ((10,), "sleeper")
    assert_gone_soon(wait_for_pids(tmp_path / "pids"))


def test_an_unresponsive_isolated_solver_is_killed_at_the_deadline() -> None:
    started = time.monotonic()
    assert run_solver(row("offers_then_sleeps"), 0.3).stop_reason == "time_limit"
    assert time.monotonic() - started < 0.3 + GRACE_S


def test_the_children_of_a_solver_are_killed_with_it(tmp_path: Path) -> None:
    run_until_started(row("has_a_sleeping_child"), tmp_path / "pids")
    pids = wait_for_pids(tmp_path / "pids")
    assert len(pids) == 2
    assert_gone_soon(pids)


def test_an_isolated_solver_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-m", "tests.support.isolated"])
    try:
        pids = wait_for_pids(tmp_path / "pids")
        assert all(map(is_alive, pids))
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    assert_gone_soon(pids)


@pytest.mark.parametrize(
    ("function", "message", "by"),
    [
        ("offers_then_raises", r"^offers_then_raises: (.|\n)*RuntimeError: the engine fell over", "raiser"),
        ("is_killed", r"^is_killed: the solver's process ended early, with status -9$", "victim"),
    ],
)
def test_an_exception_or_kill_is_an_engine_error_and_earlier_offers_count(function: str, message: str, by: str) -> None:
    instance = instance_with_a_gap()
    search = search_for(instance, 20)
    with pytest.raises(EngineError, match=message):
        run_isolated(row(function), instance, search)
    assert require_value(search.best).by == by


def test_output_printed_by_an_engine_is_not_taken_for_an_answer() -> None:
    assert require_value(run_solver(row("prints_garbage")).best).by == "printer"


def test_invalid_bytes_among_the_answers_are_an_engine_error() -> None:
    with pytest.raises(EngineError, match=r"^writes_among_the_answers: "):
        run_solver(row("writes_among_the_answers"))


def test_a_solver_that_cannot_be_imported_is_an_engine_error() -> None:
    missing = SolverRow("missing", "nowhere", "no_such_module:solve", is_isolated=True)
    with pytest.raises(EngineError, match="No module named 'no_such_module'"):
        run_solver(missing)


def test_a_search_that_is_over_does_not_wait_for_its_solver() -> None:
    instance = instance_with_a_gap()
    search = search_for(instance, 20)
    search.stop("cancelled")
    started = time.monotonic()
    run_isolated(row("offers_then_sleeps"), instance, search)
    assert time.monotonic() - started < GRACE_S
    assert search.best is None
