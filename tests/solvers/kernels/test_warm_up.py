"""A machine on which no kernels are compiled yet. Most tests run them as Python, which changes nothing but the time."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROBLEM = """
from memplan.planner.model.problem import Problem
rows = [(1, 1, 3), (2, 1, 5), (5, 0, 1), (3, 4, 7), (2, 1, 4), (4, 3, 7), (2, 2, 4), (5, 0, 2)]
problem = Problem(buffers=[{"id": i, "size": s, "start": a, "end": b} for i, (s, a, b) in enumerate(rows)])
"""
"""Ten bytes are alive at once, but no plan needs less than eleven."""
NOTICE = "compiling the kernels, once"


def python(program: str, place: Path, **settings: str) -> subprocess.Popen[str]:
    """Start a process whose kernels are kept in `place`."""
    return subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=os.environ | {"NUMBA_CACHE_DIR": str(place), "MEMPLAN_KERNELS": "host"} | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answer(program: str, place: Path) -> tuple[list[str], str]:
    """Return the words that a process prints, and what it says on standard error."""
    out, err = python(program, place, NUMBA_DISABLE_JIT="1").communicate(timeout=60)
    return out.split(), err


@contextmanager
def compiling_takes_forever(place: Path, lock_file: str = "memplan-kernels.lock") -> Iterator[None]:
    with (place / lock_file).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def test_a_search_waits_for_its_kernels_and_says_so(tmp_path: Path) -> None:
    program = PROBLEM + (
        "from memplan.solvers.portfolio.solve import solve; plan = solve(problem, solver='exact', time_limit_s=50);"
        "print(plan.status, plan.peak)"
    )
    for is_told in (True, False):
        words, told = answer(program, tmp_path)
        assert words == ["optimal", "11"]
        assert (NOTICE in told) == is_told


def test_a_search_whose_time_is_over_waits_no_longer(tmp_path: Path) -> None:
    program = PROBLEM + (
        "import sys; from memplan.solvers.portfolio.solve import solve;"
        "plan = solve(problem, solver='exact', time_limit_s=0.3);"
        "print(plan.status, plan.stop_reason, 'llvmlite' in sys.modules)"
    )
    with compiling_takes_forever(tmp_path):
        words, told = answer(program, tmp_path)
    assert words == ["feasible", "time_limit", "False"]
    assert told.count(NOTICE) == 1


def test_while_kernels_are_being_compiled_plain_python_packs(tmp_path: Path) -> None:
    program = """
import sys
import numpy as np
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.buffer_table import column
from memplan.solvers.packing.packers import PlainPacker, QuickPacker
from tests.support.random_problems import random_problem
instance, order = compile_problem(random_problem(0, 400)), column(range(400))
packer = QuickPacker(instance, column([0]))
packed = {tuple(packer.pack(0, order)) for _ in range(40)}
print(packed == {tuple(PlainPacker(instance).pack(0, order))}, 'llvmlite' in sys.modules)
"""
    with compiling_takes_forever(tmp_path):
        words, told = answer(program, tmp_path)
    assert words == ["True", "False"]
    assert told.startswith(NOTICE)


def test_what_is_too_much_for_plain_python_waits_until_the_search_is_over(tmp_path: Path) -> None:
    program = """
import sys
import numpy as np
from memplan.planner.model.problem import Problem
from memplan.planner.model.buffer_table import BufferTable
from memplan.solvers.portfolio.solve import solve
n = 20_000
table = BufferTable.from_columns(range(n), np.arange(1, n + 1), np.arange(n) // 2, np.arange(n) // 2 + 3)
plan = solve(Problem(buffers=table), time_limit_s=0.5)
print(plan.status, plan.stop_reason, 'llvmlite' in sys.modules)
"""
    with compiling_takes_forever(tmp_path):
        words, _ = answer(program, tmp_path)
    assert words == ["unknown", "time_limit", "False"]


def test_planning_neither_compiles_nor_loads_nor_awaits_the_kernels_of_orders(tmp_path: Path) -> None:
    program = PROBLEM + (
        "import sys; from memplan.solvers.portfolio.solve import solve;"
        "plan = solve(problem, solver='exact', time_limit_s=50);"
        "print(plan.status, any('kernels.order' in name for name in sys.modules))"
    )
    with compiling_takes_forever(tmp_path, "memplan-order-kernels.lock"):
        words, told = answer(program, tmp_path)
    assert words == ["optimal", "False"]
    assert told.count(NOTICE) == 1
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert folder.name.startswith("memplan-kernels-")


def test_an_order_awaits_no_kernels_but_its_own_and_those_within_its_time(tmp_path: Path) -> None:
    program = """
from memplan import order_operations, read_graph
graph = read_graph("examples/graphs/synth_grid10x10.json")
print(order_operations(graph, time_limit_s={}).status)
"""
    with compiling_takes_forever(tmp_path):
        words, told = answer(program.format(20), tmp_path)
    assert len(words) == 1
    assert told.count(NOTICE) == 1
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert folder.name.startswith("memplan-order-kernels-")
    cold = tmp_path / "cold"
    cold.mkdir()
    with compiling_takes_forever(cold, "memplan-order-kernels.lock"):
        words, told = answer(program.format(0.3), cold)
    assert len(words) == 1
    assert told.count(NOTICE) == 1


def test_a_forked_process_does_not_take_its_parents_compiler_for_one_that_has_failed(tmp_path: Path) -> None:
    program = """
import os
from memplan.solvers.kernels import warm_up
warm_up.are_ready()
if os.fork() == 0:
    print(warm_up.are_ready(), flush=True)
    os._exit(0)
os.wait()
"""
    with compiling_takes_forever(tmp_path):
        words, _ = answer(program, tmp_path)
    assert words == ["False"]


def test_where_nothing_can_be_kept_a_search_goes_on_without(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    program = PROBLEM + (
        "from memplan.solvers.portfolio.solve import solve; from memplan.solvers.kernels.warm_up import warm_up;"
        "print(warm_up(), solve(problem, solver='exact', time_limit_s=50).status)"
    )
    words, _ = answer(program, tmp_path / "file" / "below")
    assert words == ["None", "optimal"]


@pytest.mark.slow
def test_of_processes_that_start_together_on_a_cold_machine_each_answers_and_one_compiles(tmp_path: Path) -> None:
    program = PROBLEM + (
        "from memplan.solvers.portfolio.solve import solve; plan = solve(problem, solver='exact', time_limit_s=500);"
        "from memplan.solvers.kernels import cache as kernel_cache; print(plan.status, plan.peak, kernel_cache.find())"
    )
    processes = [python(program, tmp_path) for _ in range(4)]
    (answered,) = {process.communicate(timeout=550)[0] for process in processes}
    status, peak, folder = answered.split()
    assert (status, peak) == ("optimal", "11")
    assert [file for file in tmp_path.iterdir() if file.is_dir()] == [Path(folder)]
    assert {file.name for file in Path(folder).glob("*.o")} == {
        "pack.o",
        "pack_in_orders.o",
        "prove_unfit.o",
        "search.o",
    }
