"""The question `shapes`: its lines, generated source code that runs, and limits compared with brute force."""

import ctypes
import subprocess
import threading
from collections import Counter
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from lab.shapes import checker_verdict, faults_of_limits
from memplan.api.cli.main import main
from memplan.extensions.shapes.limits import ShapesLimits
from memplan.extensions.shapes.offset_programs import Evaluator, OffsetPrograms
from memplan.extensions.shapes.search import certificate, search
from memplan.extensions.shapes.search.certificate import lower_bound_forms
from memplan.extensions.shapes.shapes import LEAST_VERIFIED, QUESTION, VERIFIED_AT, ShapesAnswer, ShapesOptions, shapes
from memplan.extensions.shapes.symbolic_input import EXAMPLE
from memplan.planner.errors import OptionError, TimeOverError
from memplan.programs.symbols.comparing import samples
from memplan.programs.symbols.problem import SymbolicProblem
from memplan.programs.symbols.sized import compile_sizes
from memplan.programs.symbols.space import SymbolRange
from memplan.questions.question import Control
from tests.support.symbolic import draw_problem

GCC = ("gcc", "-std=c99", "-O1", "-shared", "-fPIC")


def problem_of(**changes: Any) -> SymbolicProblem:
    return SymbolicProblem.model_validate(EXAMPLE | changes)


def evaluator_of(problem: SymbolicProblem, found: ShapesAnswer) -> Evaluator:
    return Evaluator(problem, OffsetPrograms(sizes=found.sizes, size_of=found.size_of, programs=found.programs))


def test_curves_are_peak_and_bound_with_other_symbols_at_their_largest() -> None:
    found = shapes(problem_of(symbols={"b": {"max": 3}, "n": {"min": 2, "multiple_of": 2}}))
    assert [(curve.symbol, curve.at, curve.values[:2], curve.values[-1]) for curve in found.curves] == [
        ("b", {"n": 128}, (1, 2), 3),
        ("n", {"b": 3}, (2, 4), 128),
    ]
    for curve in found.curves:
        for value, peak, bound in zip(curve.values, curve.peak, curve.bound, strict=True):
            at = {**curve.at, curve.symbol: value}
            assert (peak, bound) == tuple(
                max(eval(form, {}, at) for form in forms) for forms in (found.programs[0].peak or (), found.bound)
            )


@pytest.mark.skipif(which("gcc") is None, reason="needs gcc")
def test_generated_sources_agree_with_the_evaluator_and_refuse_invalid_values(tmp_path: Path) -> None:
    unbounded = problem_of(symbols={"b": {}, "n": {}})
    for k, problem in enumerate([*map(draw_problem, (20, 21, 22)), unbounded]):
        source, library = tmp_path / f"{k}.c", tmp_path / f"{k}.so"
        found = shapes(problem, options=ShapesOptions(time_limit_s=0.5, to="c"))
        source.write_text(found.source or "")
        subprocess.run([*GCC, "-Wall", "-Wextra", "-Werror", "-o", library, source], check=True)
        plan = ctypes.CDLL(str(library)).plan
        plan.restype = ctypes.c_int64
        offsets = (ctypes.c_int64 * len(problem.buffers))()
        names: dict[str, Any] = {}
        exec(shapes(problem, options=ShapesOptions(time_limit_s=0.5, to="python")).source or "", names)
        evaluator = evaluator_of(problem, found)
        for values in samples(compile_sizes(problem).space, 10):
            peak, places = evaluator.offsets(values)
            assert (plan(*map(ctypes.c_int64, values.values()), offsets), list(offsets)) == (peak, places)
            assert names["plan"](**values)[0] == peak
        low = {name: each.min - 1 for name, each in problem.symbols.items()}
        assert plan(*map(ctypes.c_int64, low.values()), offsets) == -1
        with pytest.raises(ValueError, match=str(next(iter(low)))):
            names["plan"](**low)
    assert plan(ctypes.c_int64(2**40), ctypes.c_int64(2**20), offsets) == -1


def test_options_replace_ranges_and_alignment_of_a_problem() -> None:
    found = shapes(problem_of(), options=ShapesOptions(symbol={"n": SymbolRange(min=5, max=6)}, alignment=16))
    assert (found.symbols["n"].max, found.symbols["b"].max, found.alignment) == (6, 64, 16)
    with pytest.raises(OptionError, match=r"symbol: must be a symbol of the problem \(b, n\), got"):
        shapes(problem_of(), options=ShapesOptions(symbol={"x": SymbolRange()}))
    with pytest.raises(OptionError, match="applies only to models"):
        shapes(problem_of(), options=ShapesOptions(dims={"x": 1}))


def test_a_plain_problem_is_proved_optimal_for_any_sizes_of_its_buffers(capsys: pytest.CaptureFixture[str]) -> None:
    examples = Path(__file__).parents[3] / "examples"
    assert main(["shapes", str(examples / "mobilenet_v2.csv"), "--format", "table"]) == 0
    assert "optimal whatever the sizes of the buffers are" in capsys.readouterr().out
    assert main(["shapes", str(examples / "two_memories.json")]) == 2
    assert "must have one memory and only sizes and lifetimes, got" in capsys.readouterr().err


def limits_within(problem: SymbolicProblem, **options: Any) -> ShapesLimits:
    found = shapes(problem, options=ShapesOptions(limits=True, **options)).limits
    assert found is not None
    return found


def test_limits_and_staircases_agree_with_brute_force() -> None:
    counts: Counter[str] = Counter()
    # Seed 182 is included because its sizes fall while a symbol grows, so that the staircase has gaps.
    assert [line for seed in (*range(15), 182) for line in faults_of_limits(seed, counts)] == []
    assert min(counts["limits"], counts["stairs"]) > 0


def test_an_unbounded_symbol_has_a_limit_within_a_capacity() -> None:
    found = limits_within(problem_of(symbols={"b": {"max": 64}, "n": {}}), within=2**26, at={"b": 8})
    fitting = max(n for n in range(1, 1000) if 3072 * 8 * n + 48 * 8 * n**2 + -(-n // 8) * n <= 2**26 - 3 * 64)
    assert found.limits[0].by_plan == found.limits[0].by_any_plan
    assert abs((found.limits[0].by_plan or 0) - fitting) <= 1


def test_a_training_step_with_two_symbols_is_proved_optimal_by_the_checker() -> None:
    content = (
        Path(__file__).parents[3] / "tests" / "models" / "graph_step.json"
    ).read_bytes()  # The file contains the problem "graph step" of lab.shapes.
    problem = SymbolicProblem.model_validate_json(content)
    found = shapes(problem, options=ShapesOptions(time_limit_s=20))
    assert (len(found.symbols), found.status, found.unchecked) == (2, "optimal", None)
    answer = found.model_dump(mode="json")
    assert checker_verdict(answer, problem.model_dump(mode="json")) == "proved"
    assert checker_verdict(answer | {"programs": answer["programs"][:1]}, problem.model_dump(mode="json")) == "refused"


def test_of_too_many_live_sets_load_forms_keeps_only_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    sized = compile_sizes(draw_problem(9))
    whole = lower_bound_forms(sized)
    monkeypatch.setattr(certificate, "_MOST_CELLS", 1)
    few = lower_bound_forms(sized)
    assert len(few) == 1 < len(whole)
    columns = sized.space.columns([{name: row.max or 1 for name, row in sized.space.symbols.items()}])
    first, *others = (int(sized.space.values_at(form, columns)[0]) for form in (few[0], *whole))
    assert first == max(others)


def test_a_large_problem_raises_time_over_if_no_time_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_LARGE", 0)
    over = threading.Event()
    over.set()
    with pytest.raises(TimeOverError, match=r"for a program of \d+ buffers, got time for their bound only"):
        shapes(draw_problem(7), control=Control(cancelled=over))


def test_an_answer_at_the_end_of_the_time_reports_that_less_was_proved_and_verified() -> None:
    its, over, notes = draw_problem(7), threading.Event(), list[ShapesAnswer]()
    over.set()
    whole = QUESTION.answer_verified({"problem": its}, ShapesOptions(), Control())
    found = QUESTION.answer_verified({"problem": its}, ShapesOptions(), Control(cancelled=over, note=notes.append))
    assert (whole.proof.ratio, whole.unchecked) != (None, found.unchecked)
    assert whole.verified_at > VERIFIED_AT
    assert (found.status, found.verified_at, found.curves) == ("feasible", LEAST_VERIFIED, ())
    assert found.unchecked == "offsets beyond 2 values, as no ratio is claimed for all"
    assert [(each.status, each.unchecked) for each in notes] == [("feasible", found.unchecked)]
    at = whole.curves[0].at | {whole.curves[0].symbol: whole.curves[0].values[-1]}
    bound = max(eval(form, {}, at) for form in found.bound)
    assert bound <= whole.curves[0].bound[-1] <= evaluator_of(its, found).peak(at)


def test_no_ratio_is_proved_if_a_pin_is_above_a_bound_of_zero() -> None:
    free = {"id": "free", "size": "2*n", "start": 5, "end": 7}
    rows = [{"id": "pinned", "size": "2*n", "start": 5, "end": 8, "offset": 2}, free]
    found = shapes(SymbolicProblem(symbols={"n": {"min": 0, "max": 3}}, alignment=2, buffers=rows))
    assert (found.status, found.proof.ratio, found.proof.worst) == ("feasible", None, {"n": 0})


def test_an_order_above_all_live_sets_is_not_claimed_optimal() -> None:
    sizes = {"s": "n", "p": "n", "q": "n", "v": "1"}
    lives = {"s": (0, 4), "p": (3, 6), "q": (5, 6), "v": (1, 2)}
    rows = [{"id": k, "size": sizes[k], "start": lives[k][0], "end": lives[k][1]} for k in sizes]
    rows[3] |= {"alias_of": "q", "alias_offset": 0}
    found = shapes(SymbolicProblem(symbols={"n": {"min": 1, "max": 8}}, buffers=rows))
    assert found.status == "feasible"
    assert found.proof.worst_ratio == pytest.approx(1.5)
