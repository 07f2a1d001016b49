"""Offset programs for all values, and their proofs, checked by `checkers/all_values.py`."""

import json
import random
import subprocess
import sys
from collections import Counter
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab.shapes import checker_verdict, faults_of_certificates, faults_of_plans
from memplan.checkers import all_values
from memplan.extensions.shapes.offset_programs import Evaluator, OffsetPrograms
from memplan.extensions.shapes.search.stacking import order_for_any_sizes, peaks_of_order
from memplan.extensions.shapes.search.values import first_optimal, improve_order
from memplan.extensions.shapes.shapes import ShapesAnswer, ShapesOptions, lines, shapes
from memplan.extensions.shapes.verify_programs import verify_programs
from memplan.programs.symbols.comparing import samples
from memplan.programs.symbols.problem import SymbolicProblem
from memplan.programs.symbols.sized import compile_sizes
from tests.support.symbolic import draw_problem

FOLDER = Path(__file__).parents[4] / "examples" / "symbolic"
NETWORKS = ("bert_4l", "llama_4l", "moe_2l", "wav2vec2")


def programs_of(found: ShapesAnswer) -> OffsetPrograms:
    return OffsetPrograms(sizes=found.sizes, size_of=found.size_of, programs=found.programs)


def test_random_programs_have_no_overlap_at_any_value_and_valid_proofs() -> None:
    counts: Counter[str] = Counter()
    assert [line for seed in range(12) for line in faults_of_plans(seed, counts)] == []
    assert min(counts["at every value"], counts["proved for all values"]) > 0


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_has_programs_proved_optimal_for_all_values(name: str) -> None:
    content = json.loads((FOLDER / f"{name}.json").read_bytes())
    found = shapes(SymbolicProblem.model_validate(content), options=ShapesOptions(time_limit_s=30))
    assert (found.status, found.proof.ratio) == ("optimal", 0)
    assert len(found.programs) <= 2


def test_verify_programs_detects_an_overlap_a_wrong_peak_and_a_wrong_order() -> None:
    problem = draw_problem(3)
    found = programs_of(shapes(problem, options=ShapesOptions(time_limit_s=0.5)))
    points = samples(compile_sizes(problem).space, 8)
    first = found.programs[0]
    for change in ({"which": (0,) * len(first.which)}, {"last": ()}, {"order": first.order[::-1]}):
        programs = (first.model_copy(update=change), *found.programs[1:])
        assert not verify_programs(problem, found.model_copy(update={"programs": programs}), points).is_valid


ATTENTION: dict[str, tuple[tuple[int, int], ...]] = {
    "256*n": ((0, 49), (14, 22), (14, 26), (14, 30), (21, 33), (29, 39), (38, 42), (48, 70))
}
ATTENTION |= {"768*n": ((9, 15), (60, 64), (63, 70)), "16*n*n": ((32, 36),), "16384": ((45, 49),), "49152": ((54, 64),)}


@pytest.mark.parametrize("value", [96, 128, 256])
def test_an_unbounded_length_is_planned_at_values_where_its_square_dominates(value: int) -> None:
    lives = [(size, *life) for size, rows in ATTENTION.items() for life in rows]
    buffers = [{"id": k, "size": size, "start": start, "end": end} for k, (size, start, end) in enumerate(lives)]
    problem = SymbolicProblem(symbols={"n": {}}, buffers=buffers)
    found = shapes(problem, options=ShapesOptions(time_limit_s=2))
    sized = compile_sizes(problem)
    bound = sized.demand(sized.sizes([{"n": value}]), sized.min_offsets([{"n": value}]))
    assert Evaluator(problem, programs_of(found)).peak({"n": value}) == bound[0]


@pytest.mark.parametrize("seed", range(3))
def test_expressions_of_a_program_agree_with_its_evaluation(seed: int) -> None:
    problem = draw_problem(seed)
    found = programs_of(shapes(problem, options=ShapesOptions(time_limit_s=0.2)))
    program = found.programs[0]
    evaluator = Evaluator(problem, found.model_copy(update={"programs": (program,)}))
    assert len(program.counts()) == len(program.values) + 1
    for point in samples(compile_sizes(problem).space, 4):
        sizes = dict(enumerate(evaluator.sized.space.values(evaluator.sized.forms, point)))
        offsets, ends = program.expressions(sizes, lambda sums: max(sums, default=0))
        assert (max(ends, default=0), offsets) == evaluator.offsets(point)


def test_improve_order_lowers_the_worst_ratio_over_several_values() -> None:
    sized = compile_sizes(SymbolicProblem.model_validate(json.loads((FOLDER / "llama_4l.json").read_bytes())))
    points = samples(sized.space, 8)
    sizes, least = sized.sizes(points), sized.min_offsets(points)
    bound = sized.demand(sizes, least)
    start = tuple(range(sized.count))
    order = improve_order(sized, start, (sizes, least, bound), 0.002, 1)
    worst = [float((peaks_of_order(sized, each, sizes, least) / bound).max()) for each in (start, order)]
    assert sorted(order) == list(start)
    assert 1 <= worst[1] < worst[0]


def test_order_for_any_sizes_finds_an_order_exactly_if_one_exists() -> None:
    draw = random.Random(5)
    found = 0
    for _ in range(60):
        lives = [(start := draw.randrange(5), start + draw.randint(1, 4)) for _ in range(6)]
        rows = [{"id": i, "size": 1, "start": start, "end": end} for i, (start, end) in enumerate(lives)]
        order = order_for_any_sizes(compile_sizes(SymbolicProblem(symbols={}, buffers=rows)))
        assert (order is not None) == any(_is_optimal(lives, each) for each in permutations(range(6)))
        if order is not None:
            found += 1
            assert _is_optimal(lives, order)
    assert found > 0


def _is_optimal(lives: list[tuple[int, int]], order: tuple[int, ...]) -> bool:
    """Return True if the buffers of each stacked chain are alive at one time: all peaks are sums of live sets."""
    above: list[list[int]] = [[] for _ in order]
    rank = np.argsort(order)
    for a, (a_start, a_end) in enumerate(lives):
        for b, (b_start, b_end) in enumerate(lives):
            if rank[a] < rank[b] and a_start < b_end and b_start < a_end:
                above[a].append(b)

    def chains(last: int, start: int, end: int) -> bool:
        spans = [(b, max(start, lives[b][0]), min(end, lives[b][1])) for b in above[last]]
        return all(low < high and chains(b, low, high) for b, low, high in spans)

    return all(chains(a, *lives[a]) for a in range(len(lives)))


@pytest.mark.parametrize(
    ("worst", "index"), [([1.01, 1.000002, 1.0], 2), ([1.01, 1.0003, 1.00015], 1), ([1.0, 1.0], 0), ([1.2], 0)]
)
def test_first_optimal_adds_an_offset_program_only_if_optimal_or_clearly_better(worst: list[float], index: int) -> None:
    assert first_optimal(worst) == index


ROOT = Path(__file__).parents[4]
CHECKER = ROOT / "checkers" / "all_values.py"


def answer_of(problem: dict[str, Any], **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        shapes(SymbolicProblem.model_validate(problem), options=ShapesOptions(**options)).model_dump_json()
    )
    return found


def problem_of(*sizes: str, **changes: Any) -> dict[str, Any]:
    rows = [
        {"id": f"b{i}", "size": size, "start": start, "end": end}
        for i, (size, (start, end)) in enumerate(zip(sizes, [(0, 3), (2, 4), (1, 5), (3, 6), (4, 7)], strict=False))
    ]
    symbols = {"b": {"min": 1, "max": 9}, "n": {"min": 2, "max": 90}}
    return {"symbols": symbols, "alignment": 16, "buffers": rows} | changes


def test_random_answers_are_proved_and_false_mutants_are_refused() -> None:
    counts: Counter[str] = Counter()
    assert [line for seed in range(8) for line in faults_of_certificates(seed, counts, mutants=4)] == []
    assert counts["answers proved"] >= 6
    assert counts["mutants refused"] > 10


@pytest.mark.parametrize("calls", [0, 1, 20])
def test_all_values_checker_ends_undecided_once_the_time_is_over(calls: int) -> None:
    problem, left = problem_of("b*n", "max(n, 3*b)", "b*b", "n//2", "n"), iter(range(calls))
    answer = answer_of(problem)
    with pytest.raises(all_values.Undecided, match="time is over"):
        all_values.check(answer, problem, lambda: next(left, None) is None)  # type: ignore[no-untyped-call]  # a script without types


@pytest.mark.parametrize("name", ["bert_4l", "wav2vec2"])
def test_all_values_checker_proves_networks_as_a_standalone_program(name: str, tmp_path: Path) -> None:
    path = ROOT / "examples" / "symbolic" / f"{name}.json"
    answer, said = tmp_path / "answer.json", []
    answer.write_text(json.dumps(answer_of(json.loads(path.read_text()))))
    for arguments in ([answer, path], [answer], [path], [answer, ROOT / "examples" / "symbolic" / "llama_4l.json"]):
        done = subprocess.run([sys.executable, "-I", CHECKER, *arguments], capture_output=True, text=True, check=False)
        said.append((done.returncode, done.stdout.partition(":")[0]))
    assert said == [(0, "proved"), (0, "proved"), (2, "wrong input"), (3, "refused")]


def test_all_values_checker_refuses_an_answer_with_one_wrong_field() -> None:
    problem = problem_of("64*n", "16*b*n", "4096", "16*n", "48*b")
    answer = answer_of(problem)
    assert checker_verdict(answer, problem) == "proved"
    for change in (
        {"bound": ["64"]},
        {"alignment": 32},
        {"status": "feasible"},
        {"sizes": [*answer["sizes"][:-1], "48*b + 16"]},
        {"sizes": [*answer["sizes"][:-1], "-48*b"]},
        {"lifetimes": [[0, 9], *answer["lifetimes"][1:]]},
        {"symbols": answer["symbols"] | {"n": {"min": 2, "max": 91}}},
    ):
        assert checker_verdict(answer | change, problem) == "refused", change


def test_all_values_checker_proves_answers_with_unbounded_symbols() -> None:
    problem = problem_of("64*n", "16*b*n", "ceil_div(n, 3)*16", symbols={"b": {}, "n": {"min": 3, "multiple_of": 3}})
    assert checker_verdict(answer_of(problem), problem) == "proved"


@pytest.mark.slow
def test_an_answer_reports_claims_that_the_checker_did_not_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    content = json.loads((ROOT / "examples" / "symbolic" / "moe_2l.json").read_text())
    assert answer_of(content, time_limit_s=30)["unchecked"] is None
    monkeypatch.setattr(all_values.boxes, "MOST_BOXES", 0)
    found = shapes(SymbolicProblem.model_validate(content), options=ShapesOptions(time_limit_s=30))
    reason = "checkers/all_values.py ended undecided, too many boxes of symbol values: 1"
    assert found.unchecked == f"the proof for all values: {reason}"
    assert f"not checked: {found.unchecked}" in list(lines(found))
