"""What every MILP engine must do, asked of each by its own test file."""

from __future__ import annotations

from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.problem import Problem
from tests.support import public_problems
from tests.support.engine_batch import Answer, Job, ask
from tests.support.oracle import best_score, check
from tests.support.small_problems import small_problems
from tests.support.tied_problems import priced_tied_problem, tied_problem


def check_that_it_agrees_with_brute_force(engine: str, count: int) -> None:
    """Ask with and without the bound and a start: the optimum is found and proved, what fits not is said to."""
    check_against_brute_force(engine, small_problems(seed=5, count=count))


def check_that_it_keeps_every_constraint(engine: str, count: int) -> None:
    """Ask the same of problems that mix the constraints."""
    problems = [tied_problem(seed, most=5) for seed in range(700, 700 + count)]
    check_against_brute_force(engine, problems)


def check_against_brute_force(engine: str, problems: list[Problem]) -> None:
    """Ask for problems with and without the bound and a start, and hold the answers against brute force."""
    problems = [p for p in problems if not compile_problem(p).unplaceable]  # which reach no solver
    ways = [Job(p, is_untold=k % 2 == 0, has_start=k % 3 == 0) for k, p in enumerate(problems)]
    for problem, answer in zip(problems, ask(engine, ways), strict=True):
        wanted = best_score(problem)
        named = problem.model_dump_json(exclude_defaults=True)
        assert answer.score == wanted, named
        assert answer.is_proved, named
        assert wanted is None or answer.claim == wanted, named
        if answer.placements is not None:
            assert check(problem, answer.placements) == [], named


def check_that_it_counts_what_pairs_cost(engine: str, count: int) -> None:
    """Ask for problems of all kinds whose pairs have prices: the least cost is found and proved."""
    problems = [priced_tied_problem(seed) for seed in range(count)]
    for problem, answer in zip(problems, ask(engine, [Job(problem) for problem in problems]), strict=True):
        wanted = best_score(problem)
        named = problem.model_dump_json(exclude_defaults=True)
        assert answer.score is not None or wanted is None, named
        if wanted is not None and answer.score is not None and answer.claim is not None:
            assert answer.score[0] == wanted[0] >= answer.claim[0], named
            assert answer.claim[0] == wanted[0] or not problem.reuse, named


def check_that_it_proves_the_small_set(engine: str) -> None:
    """The tiny problems of minimalloc are proved to have the recorded optima."""
    entries = public_problems.recorded("minimalloc_small")
    answers = ask(engine, [Job(public_problems.problem(f"minimalloc_small/{entry['file']}")) for entry in entries])
    assert [answer.is_proved for answer in answers] == [True] * len(entries)
    assert [answer.score for answer in answers] == [(entry["optimum"],) for entry in entries]


def ring(*sizes: int) -> Problem:
    """Buffers in a ring, each in conflict with the next one; of an odd ring the bound knows the heaviest pair only."""
    rows = [{"id": k, "size": size} for k, size in enumerate(sizes)]
    return Problem.model_validate(
        {"buffers": rows, "conflicts": [(k, (k + 1) % len(sizes)) for k in range(len(sizes))]}
    )


def minimised_from_a_start(engine: str) -> Answer:
    """Ask for the proof that a ring takes 61 bytes, where the bound is 41, given a plan that takes no more."""
    (answer,) = ask(engine, [Job(ring(20, 21, 20, 21, 20), has_start=True)])
    assert answer.is_proved
    assert list(answer.score or ()) == [61]
    return answer


def check_that_large_sizes_make_no_false_claim(engine: str) -> None:
    """Ask for rings whose optimum is 3 sizes, above 2^29 and odd; scaled, they are known to a few units only."""
    sizes = [2**k + 1 for k in (29, 34, 45, 60)]
    for size, answer in zip(
        sizes, ask(engine, [Job(ring(size, size + 2, size, size, size)) for size in sizes]), strict=True
    ):
        assert answer.score is not None
        assert answer.score[0] <= 3 * size + 2
        assert not answer.says_infeasible
        assert answer.claim is not None
        assert 2.99 * size < answer.claim[0] <= 3 * size


def check_that_limited_work_gives_the_same_twice(engine: str) -> None:
    """Ask twice, without a clock, for what takes more than the work allowed."""
    sizes = [31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83]
    rows = [{"id": k, "size": size, "start": 5 * k % 11, "end": 5 * k % 11 + 4} for k, size in enumerate(sizes)]
    job = Job(Problem.model_validate({"buffers": rows}), is_untold=True, work_limit=2_000_000)
    first, second = ask(engine, [job, job])
    assert (first.score, first.claim, first.placements) == (second.score, second.claim, second.placements)
