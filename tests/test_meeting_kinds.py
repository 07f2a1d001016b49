"""Random problems that combine all constraint kinds: every answer about them agrees with brute force."""

from collections import Counter
from functools import cache
from itertools import chain

import pytest

from memplan.planner.instance.audit import verify
from memplan.planner.model.constraints.kinds import KINDS as CONSTRAINT_KINDS
from memplan.planner.model.problem import Problem
from memplan.planner.model.problem_fields import Pool
from memplan.planner.model.rows import Buffer
from memplan.questions.explain.explain import explain
from memplan.questions.explain.values import ExplainOptions
from memplan.solvers.certificates.certify import certify
from memplan.solvers.portfolio.solve import solve
from tests.support import meeting_answers, meeting_kinds
from tests.support.depth import seeds
from tests.support.meeting_kinds import KINDS, PAIRS
from tests.support.meeting_questions import posted_to
from tests.support.server import RunningServer

_DRAWN, _PARTS, _SEED, _EVERY = 2_000, 40, 0, 3
_PARTS_OF_GATE = range(0, _PARTS, 4)
"""The parts of the drawn problems that the gate checks; `lab.deep` checks all of them, and more draws."""
_OF_ALL = {"id", "size", "name", "buffers", "pools", "objective", "format", "read_with"}
_OF_ALL |= {"moves", "accesses", "given", "kept_in", "direct"}
"""Fields that do not state a constraint on placements of whole buffers; `lab.moves_agreement` draws those of moves."""

pytestmark = pytest.mark.filterwarnings("ignore:buffer .* has no lifetime")


@cache
def problems(seed: int) -> list[tuple[str, Problem, tuple[str, ...]]]:
    return [*meeting_kinds.problems(seed, _DRAWN)]


def test_each_field_of_the_schema_belongs_to_a_constraint_kind() -> None:
    fields = {*Buffer.model_fields, *Pool.model_fields, *Problem.model_fields}
    assert fields - _OF_ALL == {*chain.from_iterable(stated_by for stated_by, _ in KINDS.values())} - _OF_ALL
    assert ({*chain.from_iterable(kind.stated_by for kind in CONSTRAINT_KINDS)} - {"aliases"}) <= fields


def test_each_pair_of_constraint_kinds_meets_in_thirty_drawn_problems_and_in_two_of_the_gate() -> None:
    rows = [(number % _PARTS in _PARTS_OF_GATE, kinds) for number, (_, _, kinds) in enumerate(problems(_SEED))]
    for chosen, least in (([kinds for _, kinds in rows], 30), ([kinds for is_of_gate, kinds in rows if is_of_gate], 2)):
        met = Counter(pair for kinds in chosen for pair in PAIRS if {*pair} <= {*kinds})
        assert [(pair, met[pair]) for pair in PAIRS if met[pair] < least] == []


@pytest.mark.slow
@pytest.mark.drawn
@pytest.mark.parametrize(
    "part", [k if k in _PARTS_OF_GATE else pytest.param(k, marks=pytest.mark.deep) for k in range(_PARTS)]
)
def test_answers_about_combined_constraint_kinds_agree_with_brute_force(part: int, server: RunningServer) -> None:
    found, tally, post = {}, Counter[str](), posted_to(server)
    for seed in seeds(1):
        rows = problems(_SEED + seed)
        for number in range(part, len(rows), _PARTS):
            name, problem, _ = rows[number]
            found[name] = [*meeting_answers.faults(number, problem, tally, post, _EVERY)]
    assert {name: faults for name, faults in found.items() if faults} == {}
    assert tally["plans optimal"]


def test_the_checker_of_answers_detects_a_false_peak() -> None:
    problem = Problem.model_validate({"buffers": [{"id": k, "size": 4, "start": 0, "end": 2} for k in range(2)]})
    found = solve(problem)
    assert [*meeting_answers.faults_of(problem, found.model_copy(update={"peak": 7}))] != []
    assert [*meeting_answers.faults_of(problem, found)] == []


@pytest.mark.parametrize("objective", ["peak", ["peak", "cost"]])
def test_a_zero_size_buffer_may_have_an_offset_above_the_peak(objective: object) -> None:
    rows = [{"id": 0, "size": 0, "start": 0, "end": 1, "offset_mod": {"modulus": 8, "remainder": 5}}]
    rows.append({"id": 1, "size": 2, "start": 0, "end": 2})
    pools = [{"name": "a", "size": 1}, {"name": "b"}] if objective == "peak" else [{"name": "b"}]
    problem = Problem.model_validate({"buffers": rows, "pools": pools, "objective": objective})
    found = solve(problem, time_limit_s=5)
    assert (found.status, found.peak, verify(problem, found)) == ("optimal", 2, ())


def test_a_pinned_view_fixes_the_offset_of_its_same_offset_set() -> None:
    rows = [
        {"id": 0, "size": 4, "start": 1, "end": 3, "pools": ["mid"]},
        {"id": 1, "size": 4, "start": 4, "end": 7, "pools": ["fast"]},
        {"id": 2, "size": 2, "start": 1, "end": 4, "pools": ["mid"], "offset": 6, "alias_of": 0, "alias_offset": 1},
    ]
    fields = {"pools": [{"name": "fast", "size": 10}, {"name": "mid"}], "same_offset": [[1, 0]], "equal_use": True}
    problem = Problem.model_validate({"buffers": rows, **fields})
    found = solve(problem, time_limit_s=5)
    assert (found.status, found.proof and list(found.proof.buffers), verify(problem, found)) == ("optimal", [0], ())


def test_a_certificate_accepts_pool_usage_raised_to_avoid_weighted_bank_clashes() -> None:
    rows = [
        {"id": 0, "size": 1, "start": 0, "end": 3},
        {"id": 1, "size": 1, "start": 3, "end": 6},
        {"id": 2, "size": 5, "start": 2, "end": 5},
    ]
    bank = [{"buffers": [0, 2], "weight": 7}, {"buffers": [2, 0, 1], "weight": 7}]
    pool = {"name": "fast", "size": 11, "reserved": [[3, 1]], "bank_size": 3}
    problem = Problem.model_validate({"buffers": rows, "bank": bank, "pools": [pool], "objective": "cost"})
    found = certify(problem, solve(problem))
    assert found.left_open is not None
    assert found.left_open.endswith("the proof needs rules that certificates leave out: bank-weights")


def test_what_if_handles_a_reuse_pair_that_a_relative_offset_forces_to_share() -> None:
    rows = [
        {"id": 1, "size": 5, "start": 3, "end": 6},
        {"id": 2, "size": 4, "start": 0, "end": 3, "relative": {"to": 1, "offset": 0}},
    ]
    data = {"buffers": rows, "reuse": [{"pairs": [[1, 2]], "cost": 5}], "objective": "cost"}
    found = explain(Problem.model_validate(data), options=ExplainOptions(what_if=True)).what_if
    assert found is not None
    assert [(pair.gain_if_free, pair.loss_if_apart) for pair in found.pairs] == [((5.0, 5.0), None)]
