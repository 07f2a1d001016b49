"""Stages and solvers of the portfolio, and the thread limit of a search."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from memplan.api.cli.main import main
from memplan.planner.errors import OptionError, SolverFailedError
from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.solvers.portfolio import registry, stages
from memplan.solvers.portfolio.registry import SolverRow
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.portfolio.stages import SolverFaultWarning
from memplan.solvers.processes.harden import plain_environment
from memplan.solvers.processes.threads import SETTING, max_threads, solvers_beside, threads_of_one
from memplan.solvers.search.incumbent import Search
from tests.support import false_claims
from tests.support.depth import GRACE_S
from tests.support.tiny import FEATURES
from tests.support.values import require_value

RING = compile_problem(FEATURES["a ring of conflicts"])
SEVERAL = compile_problem(FEATURES["pools"])
GREEDY = registry.BY_NAME["greedy"]
ROOT = str(Path(__file__).parents[3])
RAISER = SolverRow("cbc", "falls over", "tests.support.misbehaving:offers_then_raises", is_isolated=True)


def search_for(instance: Instance, limit_s: float = 60.0) -> Search:
    return Search(instance, deadline=time.monotonic() + limit_s)


def names(portfolio: list[list[SolverRow]]) -> list[list[str]]:
    return [[row.name for row in stage] for stage in portfolio]


def test_the_portfolio_starts_with_greedy_and_ends_with_engines_for_several_pools() -> None:
    portfolio = names(stages.stages_of_solver(SEVERAL, "auto"))
    assert (portfolio[0], portfolio[-1]) == (["greedy"], ["cp-sat", "highs"])


def test_a_solver_with_a_missing_library_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = "tests.support.false_claims:waits"
    absent = SolverRow("absent", "needs what nobody has", waits, needs=("no_such_package",))
    monkeypatch.setitem(registry.BY_NAME, "absent", absent)
    with pytest.raises(OptionError) as caught:
        stages.stages_of_solver(RING, "absent")
    missing = "no_such_package, which is not installed: pip install no_such_package"
    assert str(caught.value) == f"solver: absent needs {missing}"


@pytest.mark.parametrize(
    "row",
    [
        SolverRow("highs", "can do nothing", "tests.support.false_claims:waits", can=frozenset()),
        SolverRow("highs", "is not installed", "tests.support.false_claims:waits", needs=("no_such_package",)),
        SolverRow("highs", "is for less", "tests.support.false_claims:waits", at_most=1),
    ],
    ids=lambda row: row.summary,
)
def test_the_portfolio_omits_unsuitable_solvers(monkeypatch: pytest.MonkeyPatch, row: SolverRow) -> None:
    monkeypatch.setitem(registry.BY_NAME, "highs", row)
    assert names(stages.stages_of_solver(SEVERAL, "auto"))[-1] == ["cp-sat"]


def test_portfolio_stages_run_until_the_search_is_over() -> None:
    search = search_for(compile_problem(FEATURES["plain"]))
    portfolio = [[GREEDY], [SolverRow("broken", "does not exist", "no_such_module:solve")]]
    assert stages.run(search.instance, search, portfolio) == []
    assert search.stop_reason == "proved"


def test_the_solvers_of_one_portfolio_stage_run_concurrently() -> None:
    search = search_for(RING)
    ender = SolverRow("ender", "ends the search", "tests.support.false_claims:ends")
    started = time.monotonic()
    stages.run(RING, search, [[false_claims.row("waits"), ender]])
    assert search.stop_reason == "cancelled"
    assert time.monotonic() - started < 30 + GRACE_S


def test_a_failing_engine_is_reported_and_the_others_continue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ROOT)
    search = search_for(RING)
    failures = stages.run(RING, search, [[RAISER], [GREEDY]])
    assert [(failure.solver, failure.line) for failure in failures] == [("cbc", "RuntimeError: the engine fell over")]
    assert require_value(search.best).score == (3,)


def test_a_plan_found_before_the_named_engine_failed_reports_the_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ROOT)
    monkeypatch.setitem(registry.BY_NAME, "cbc", RAISER)
    monkeypatch.setitem(
        registry.BY_NAME, "greedy", replace(GREEDY, can=frozenset())
    )  # prevents greedy from running first
    for deterministic in (False, True):
        plan = solve(FEATURES["a ring of conflicts"], solver="cbc", deterministic=deterministic, time_limit_s=60)
        assert (plan.solver, plan.disturbed_by, plan.stop_reason) == ("raiser", "engine-failure", "engine-failure")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (replace(RAISER, where="tests.support.false_claims:fails", is_isolated=False), "ZeroDivisionError: the solver"),
        (replace(RAISER, where="no_such_module:solve", is_isolated=False), "ModuleNotFoundError: No module named "),
        (RAISER, "RuntimeError: the engine fell over"),
    ],
    ids=["raises", "is not there", "is an engine"],
)
def test_a_named_solver_that_fails_raises_its_error(row: SolverRow, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ROOT)
    monkeypatch.setitem(registry.BY_NAME, "cbc", row)
    for deterministic in (False, True):
        with pytest.raises(SolverFailedError, match=f"^solver: cbc failed: {said}") as caught:
            solve(FEATURES["a ring of conflicts"], solver="cbc", deterministic=deterministic, time_limit_s=60)
        assert caught.value.ways == ["name another solver, or none, so that memplan chooses one"]
    # A failing solver is not even started if greedy orders reach the lower bound.
    assert solve(FEATURES["plain"], solver="cbc").status == "optimal"


def test_a_crash_of_one_solver_does_not_stop_the_others() -> None:
    faulty = SolverRow("faulty", "does not exist", "no_such_module:solve")
    for portfolio in ([[faulty], [GREEDY]], [[GREEDY], [faulty, false_claims.row("waits")]]):
        search = search_for(RING)
        ender = SolverRow("ender", "ends the search", "tests.support.false_claims:ends")
        with pytest.warns(SolverFaultWarning, match="^a fault of solver faulty; .*: No module named 'no_such_module'"):
            failures = stages.run(RING, search, [*portfolio[:-1], [*portfolio[-1], ender]])
        assert len(failures) == 1
        assert "Traceback" in failures[0].error
        assert require_value(search.best).score == (3,)


def test_a_crash_of_the_greedy_orders_is_reported_and_a_plan_is_still_found(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(stages, "_OPENING", replace(GREEDY, where="no_such_module:solve"))
    with pytest.warns(SolverFaultWarning):
        plan = solve(FEATURES["holes"], deterministic=True)
    assert (plan.status, plan.peak, plan.disturbed_by) == ("optimal", 9, "engine-failure")
    assert [row.getMessage()[:7] for row in caplog.records] == ["greedy:"]


HARD = str(Path(ROOT, "examples", "problems", "minimalloc", "A.1048576.csv"))


@pytest.mark.parametrize("most", range(1, 9))
def test_all_threads_of_a_search_stay_within_the_thread_limit(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, str(most))
    assert max_threads() == most
    for count in range(1, 6):
        assert 1 <= solvers_beside(count) <= count
        assert solvers_beside(count) - 1 + threads_of_one() <= most
    assert plain_environment()[SETTING] == str(most)


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "²"])
def test_an_invalid_thread_limit_is_refused(
    text: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", HARD, "--threads", text]) == 2
    assert "threads" in capfd.readouterr().err
    monkeypatch.setenv(SETTING, text)
    with pytest.raises(OptionError, match=f"{SETTING}: must be a number of threads, at least 1, got "):
        max_threads()
    assert main(["plan", HARD]) == 2
    assert SETTING in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("words", [["plan", HARD, "--threads=1"], ["--threads", "1", "plan", HARD]])
def test_plan_with_one_thread_uses_at_most_one_processor(words: list[str], tmp_path: Path) -> None:
    program = (
        "import os, resource, sys, time; from memplan.api.cli.main import main; began = time.monotonic();"
        "status = main(sys.argv[1:]); use = resource.getrusage(resource.RUSAGE_SELF);"
        "passed = time.monotonic() - began; assert use.ru_utime + use.ru_stime - started <= 1.1 * passed + 0.2"
    ).replace("began =", "started = sum(os.times()[:2]); began =", 1)
    plan = ["-o", str(tmp_path / "plan.json"), "-q", "--time-limit", "5"]
    environment = {name: text for name, text in os.environ.items() if name != SETTING}
    command = [sys.executable, "-c", program, *words, *plan]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert '"optimal"' in (tmp_path / "plan.json").read_text()
