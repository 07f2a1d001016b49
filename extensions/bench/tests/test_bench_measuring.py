from dataclasses import replace
from pathlib import Path

import pytest

from memplan.extensions.bench import measuring, worker
from memplan.extensions.bench.measuring import measure
from memplan.extensions.bench.results import Result
from memplan.extensions.bench.running import jobs
from memplan.extensions.bench.tests.planners_to_measure import BLOCK_BYTES, BUSY_S
from memplan.extensions.bench.worker import BenchTask
from memplan.planner.errors import OptionError
from memplan.solvers.portfolio import registry
from tests.support import false_claims, public_problems
from tests.support.tiny import FEATURES
from tests.support.values import require_value

ROOT = Path(__file__).resolve().parents[3]
PROBLEM = public_problems.FOLDER / "minimalloc_small" / "input.12.csv"
INSTANCE = str(PROBLEM)


@pytest.fixture(autouse=True)
def planners_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def measure_planner(
    planner: str, time_limit_s: float = 5.0, memory_limit_bytes: int = 2**33, instance: str = INSTANCE
) -> Result:
    is_whole = ":" in planner or planner == "greedy"
    name = planner if is_whole else f"memplan.extensions.bench.tests.planners_to_measure:{planner}"
    # In a warm-up, these planners would sleep, fail or crash before the measurement, so skip the warm-up.
    return measure(BenchTask(instance, name, 1, time_limit_s, memory_limit_bytes, is_warm=False))


@pytest.fixture(scope="module")
def stack_result() -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        return measure_planner("stack")


def test_benchmark_verifies_the_plan_and_recomputes_its_peak(stack_result: Result) -> None:
    result = stack_result
    assert result.outcome == "plan"
    assert require_value(result.peak) > 12
    assert (result.buffers, result.known_peak, result.lower_bound) == (5, None, 12)


@pytest.mark.parametrize("planner", ["offset_list", "offset_map"])
def test_planners_may_return_lists_or_mappings_of_offsets(planner: str, stack_result: Result) -> None:
    result = measure_planner(planner)
    assert (result.outcome, result.peak) == ("plan", stack_result.peak)


def test_sleeping_planner_uses_wall_time_but_no_cpu_time() -> None:
    result = measure_planner("sleep")
    assert result.wall_time_s is not None
    assert result.cpu_time_s is not None
    assert result.wall_time_s >= BUSY_S
    assert result.cpu_time_s < BUSY_S / 2


def test_cpu_time_counts_the_work_of_a_planner_but_not_of_its_process_start() -> None:
    result = measure_planner("burn")
    assert result.cpu_time_s is not None
    assert BUSY_S <= result.cpu_time_s < require_value(result.process_cpu_s)


def test_cpu_time_includes_that_of_child_processes() -> None:
    result = measure_planner("burn_in_a_child")
    assert require_value(result.cpu_time_s) >= BUSY_S


def test_peak_memory_of_a_run_is_measured() -> None:
    result = measure_planner("fill_memory")
    assert result.outcome == "plan"
    assert require_value(result.peak_rss_bytes) > BLOCK_BYTES


def test_a_run_over_its_memory_limit_becomes_a_row_with_outcome_memory() -> None:
    result = measure_planner("fill_memory", memory_limit_bytes=BLOCK_BYTES)
    assert result.outcome == "memory"
    assert result.peak is None


def test_a_run_over_its_time_limit_is_stopped_with_outcome_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "GRACE_S", 0.2)
    result = measure_planner("run_forever", time_limit_s=0.1)
    assert result.outcome == "late"
    assert require_value(result.wall_time_s) >= 0.3
    assert result.cpu_time_s is not None


@pytest.mark.parametrize(
    ("planner", "outcome", "message"),
    [
        ("overlap", "invalid", "violations: "),
        ("give_up", "none", "no plan in time"),
        ("refuse", "skipped", "solver: must support the problem"),
        ("fail", "failed", "its process ended with status 1: ArithmeticError: two and two are five"),
        ("short_list", "failed", "the planner must return an offset for each of 5 buffers, got 1"),
        ("crash", "failed", "its process ended with signal SIGABRT"),
        ("no_such_module:plan", "skipped", "solver: no_such_module:plan needs no_such_module, which is not installed"),
    ],
)
def test_a_failing_planner_becomes_a_row_with_the_reason(planner: str, outcome: str, message: str) -> None:
    result = measure_planner(planner)
    assert result.outcome == outcome
    assert message in (result.message or "")


def test_output_printed_by_a_planner_does_not_disturb_its_result(stack_result: Result) -> None:
    assert measure_planner("chatter").peak == stack_result.peak


def test_an_unreadable_instance_becomes_a_row_with_outcome_failed(tmp_path: Path) -> None:
    file = tmp_path / "broken.csv"
    file.write_text("id,lower,upper,size\n1,0,0,8\n")
    result = measure_planner("stack", instance=str(file))
    assert result.outcome == "failed"
    assert (result.message or "").startswith(f"{file}: ")


def test_a_run_of_a_memplan_solver_has_a_curve_of_its_progress() -> None:
    result = measure_planner("greedy")
    assert (result.outcome, result.solver) == ("plan", "greedy")
    assert result.curve
    assert result.curve[-1].peak == result.peak
    assert (result.version or "").startswith("memplan ")


def test_an_engine_alone_finds_its_plan_without_that_of_greedy(tmp_path: Path) -> None:
    (file := tmp_path / "two.csv").write_text("id,lower,upper,size\na,0,3,64\nb,2,5,32\n")
    with_start, alone = (measure(BenchTask(str(file), name, 1, 5.0, 2**33)) for name in ("exact", "alone=exact"))
    assert (with_start.peak, str(with_start.found_by).partition(":")[0]) == (96, "greedy")
    assert (alone.solver, alone.peak, alone.found_by) == ("alone=exact", 96, "exact")
    assert [each.solver for each in jobs([str(file)], ["alone=exact"], [1], 5.0, 2**33)] == ["alone=exact"]
    with pytest.raises(OptionError, match='alone=SOLVER, or module:function, got "alone=auto"'):
        jobs([str(file)], ["alone=auto"], [1], 5.0, 2**33)


def test_a_warm_run_does_not_count_imports_of_the_first_call() -> None:
    result = measure(
        BenchTask(INSTANCE, "memplan.extensions.bench.tests.planners_to_measure:burn", 1, 5.0, 2**33, is_warm=True)
    )
    assert result.cpu_time_s is not None
    assert require_value(result.process_cpu_s) - result.cpu_time_s >= BUSY_S


class ScriptedParent:
    """A stand-in for the parent process, which hands out one task and records the messages that it receives."""

    def __init__(self, task: BenchTask) -> None:
        self.task, self.facts = task, dict[str, object]()

    def send(self, facts: dict[str, object]) -> None:
        self.facts |= facts

    def wait_for_start(self) -> None:
        """Return at once, so that the run starts without waiting for a start signal."""


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("fails", "solver: cbc failed: ZeroDivisionError: the solver fell over"),
        ("offers_first", "solver: cbc failed after"),
    ],
)
def test_a_run_of_a_named_solver_that_raises_has_outcome_failed(
    function: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry.BY_NAME, "cbc", replace(false_claims.row(function), name="cbc"))
    monkeypatch.setitem(
        registry.BY_NAME, "greedy", replace(registry.BY_NAME["greedy"], can=frozenset())
    )  # Greedy now supports no problem with conflicts, so only the named solver can plan.
    file = tmp_path / "ring.json"
    file.write_text(FEATURES["a ring of conflicts"].model_dump_json(exclude_defaults=True))
    parent = ScriptedParent(BenchTask(str(file), "cbc", 1, 5.0, 2**40, is_warm=False))
    monkeypatch.setattr(worker, "Parent", lambda: parent)
    worker.main()
    assert parent.facts["outcome"] == "failed"
    assert str(parent.facts["message"]).startswith(message)
