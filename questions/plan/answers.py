"""The forms of a `plan` answer: JSON, text lines for people, and exit statuses of the command."""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic_core import to_json

from memplan.planner.errors import count_text, excerpt
from memplan.planner.formats import memplan_json
from memplan.planner.model.plan import Heaps, Plan
from memplan.planner.model.problem import Problem, replace_fields
from memplan.planner.model.sizes import gap_text, size_text
from memplan.questions.inputs.values import InputValues, plan_refuted
from memplan.questions.plan.objects import ObjectsAnswer, objects_lines, objects_refuted


def plan_status(answer: Plan | ObjectsAnswer) -> int:
    """Return the command's exit status: 0 if a plan was found, else 1."""
    return 0 if answer.status in ("optimal", "feasible") else 1


PLAN_EXITS = {0: "a plan was found", 1: "none fits"}


@cache
def _no_problem() -> Problem:
    return Problem(buffers=())  # Creating a problem takes 2 ms, so the function is cached.


def problem_in_heaps(problem: Problem, plan: Plan) -> Problem:
    """Return the problem with the heaps of a plan as its pools; without heaps, return the problem unchanged."""
    if plan.heaps is None:
        return problem
    alignment = problem.pools[0].alignment
    pools = [{"name": pool.name, "size": pool.size, "alignment": alignment} for pool in plan.pools]
    return replace_fields(problem, buffers=rows_without_pool(problem), pools=pools)


def rows_without_pool(problem: Problem) -> list[dict[str, Any]]:
    """Return the fields of each buffer except `pools`, because the only pool need not be named."""
    table = problem.buffers
    return [{k: v for k, v in table.fields(i).items() if k != "pools"} for i in range(len(table))]


def write_plan(plan: Plan) -> bytes:
    """Return a plan as JSON; the format of its problem's file does not matter."""
    return memplan_json.write_plan(plan, _no_problem())


def write_answer(answer: Plan | ObjectsAnswer) -> bytes:
    """Return an answer of `plan` (a plan or shared objects) as JSON."""
    return write_plan(answer) if isinstance(answer, Plan) else to_json(answer) + b"\n"


def refutation(values: InputValues, answer: Plan | ObjectsAnswer) -> str | None:
    """Return why an answer is wrong for the inputs of its question; None if the answer is valid."""
    if isinstance(answer, ObjectsAnswer):
        return objects_refuted(values["problem"], answer)
    if answer.heaps is not None:
        values = {"problem": problem_in_heaps(values["problem"], answer)}
    return plan_refuted(values, answer)


def answer_lines(answer: Plan | ObjectsAnswer) -> Iterator[str]:
    """Yield the text lines of an answer, which is a plan or shared objects."""
    return plan_lines(answer) if isinstance(answer, Plan) else objects_lines(answer)


def plan_lines(plan: Plan) -> Iterator[str]:
    """Yield the text lines of a plan: its status, the use of each pool, and the kept placements."""
    yield headline(plan)
    yield from moved_lines(plan)
    if plan.heaps is not None:
        yield heaps_line(plan, plan.heaps)
    for pool in plan.pools if plan.peak is not None else ():
        size = "" if pool.size is None else f" of {pool.size:,}"
        bound = "" if pool.lower_bound is None else f", lower bound {pool.lower_bound:,}"
        name = pool.name if pool.name.isprintable() else excerpt(pool.name)
        yield f"{name}: {pool.used or 0:,} bytes ({size_text(pool.used or 0)}){size}{bound}"
    yield from place_lines(plan)
    for finding in plan.findings:
        yield f"warning: {finding.rule}: {finding.message}"


def moved_lines(plan: Plan) -> Iterator[str]:
    """Yield the number of pieces, and the copies between each pair of pools, if buffers may move."""
    if plan.placements.start is not None:
        n_buffers = len(set(plan.placements.ids))
        yield f"{count_text(n_buffers, 'buffer')} in {count_text(len(plan.placements), 'piece')}"
        counts = Counter((copy.source, copy.to) for copy in plan.copies)
        for each in plan.moved_bytes:
            number = counts[each.source, each.to]
            copies = f"{number:,} {'copy' if number == 1 else 'copies'}"
            yield f"from {excerpt(each.source)} to {excerpt(each.to)}: {copies}, {count_text(each.bytes, 'byte')}"


def heaps_line(plan: Plan, heaps: Heaps) -> str:
    """Return the number of heaps in a plan as a phrase, and whether fewer heaps may be enough."""
    count = len(plan.pools)
    fewest = "no fewer are enough" if count == heaps.least else f"at least {heaps.least:,} are needed"
    return f"{count_text(count, 'heap')} of at most {count_text(heaps.limit, 'byte')}, {fewest}"


def headline(plan: Plan) -> str:
    """Return one line about a plan: its peak, cost, gap and solver, or why no plan was found."""
    if plan.peak is None:
        return f"{plan.status}: {plan.explanation.message if plan.explanation else plan.stop_reason}"
    peak = f"peak {plan.peak:,} bytes" + ("" if plan.lower_bound is None else f", lower bound {plan.lower_bound:,}")
    if plan.heaps is not None and plan.lower_bound is not None:
        peak += f" for {count_text(len(plan.pools), 'heap')}"
    what = peak if plan.cost is None else f"{_cost_text(plan)}; {peak};"
    gap = "" if plan.gap is None else f"{',' if plan.cost is None else ''} gap {gap_text(plan.gap)}"
    spent = "" if plan.wall_time_s is None else f", {plan.wall_time_s:.2f} s"
    return f"{plan.status}: {what}{gap}, {_found_by_text(plan)}{spent}"


def _found_by_text(plan: Plan) -> str:
    proof = "" if plan.proof is None else f", proved by {plan.proof.prover}"
    return f"found by {plan.solver}{proof}"


def _cost_text(plan: Plan) -> str:
    bound = "" if plan.cost_lower_bound is None else f", lower bound {plan.cost_lower_bound:g}"
    return f"cost {plan.cost:g}{bound}"


def place_lines(plan: Plan) -> Iterator[str]:
    """Yield a line about the moved and kept buffers if an old plan was given, and a line about untried methods."""
    if (places := plan.kept) is not None:
        rule = "proved to be the fewest" if places.proved else f"at least {places.least_moves:,} must"
        if not places.proved and places.least_moves == (
            places.moved if places.least == "buffers" else places.moved_bytes
        ):
            rule = "the fewest near the best peak found, which is not proved to be the best"
        of_all = f"{places.moved:,} of {count_text(places.moved + places.stayed, 'buffer')} moved"
        yield f"{of_all}, {count_text(places.moved_bytes, 'byte')}; {rule}"
        if places.not_tried is not None:
            yield f"not tried: {places.not_tried}"
