"""Brute-force checks of other questions on combined constraint kinds: what-if, repairs, sweeps, proofs, C API.

Each question is applied to every n-th problem, so that every question meets all kinds.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from math import isclose
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import memplan
from memplan.planner.errors import InputError
from memplan.planner.formats.memplan_json import write_problem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem, replace_fields
from tests.checkers.best_claims import false_claims
from tests.checkers.certificate_mutants import mutant
from tests.checkers.checkers import CHECKER
from tests.support import equal_pools, header_calls, oracle
from tests.support.families import rigid_groups
from tests.support.server import RunningServer

Faults = Iterator[str]
Post = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""The type of functions that send a request body for a plan to a service, and return the answer."""
_SECONDS = 2.0


def _best_peak(problem: Problem) -> int | None:
    found = oracle.best_score(problem)
    return None if found is None else int(found[0])


def worth_faults(rng: random.Random, problem: Problem, plan: Plan, tally: Counter[str]) -> Faults:
    """Yield false what-if statements about the savings of a dropped or smaller buffer."""
    options = memplan.ExplainOptions(what_if=True, shrunk_to=0.5, time_limit_s=_SECONDS, study_s=_SECONDS / 2)
    found = memplan.explain(problem, options=options).what_if
    if found is None or found.peak is None:
        return
    base = problem if found.without_size is None else _unlimited_problem(problem)
    single = len(base.pools) == 1
    truth = _best_peak(base) if base.objective == "peak" and single else None
    if truth is not None and found.status == "optimal" and found.peak != truth:
        yield f"what-if: a peak of {found.peak}, where {truth} is the least"
    if truth is None or found.status != "optimal":
        return
    bodies = [{name for _, family in group for name in family.ids} for group in rigid_groups(base)]
    for row in found.buffers:
        for changed, gain in (
            (_remove_buffers(base, next(body for body in bodies if row.id in body)), row.gain_if_dropped),
            (_shrunk(base, row), row.gain_if_shrunk),
        ):
            if changed is None or gain is None:
                continue
            tally["changes of a buffer"] += 1
            worth = truth - (_best_peak(changed) or 0)
            if not gain[0] <= worth <= gain[1]:
                yield f"what-if: {row.id!r} of {row.size} bytes or {row.shrunk_to} gains {worth}, not {gain}"


def _unlimited_problem(problem: Problem) -> Problem:
    return replace_fields(problem, pools=[pool.model_copy(update={"size": None}) for pool in problem.pools])


def _remove_buffers(problem: Problem, gone: set[int | str]) -> Problem | None:
    data = problem.model_dump(mode="json", exclude_defaults=True)
    data["buffers"] = [row for row in data["buffers"] if row["id"] not in gone]
    for name in ("conflicts", "may_share", "together"):
        rows = [[each for each in names if each not in gone] for names in data.get(name, ())]
        data[name] = [names for names in rows if len(names) > (name != "together")]
    for use in data.get("bank", ()):
        use["buffers"] = [each for each in use["buffers"] if each not in gone]
    data["bank"] = [use for use in data.get("bank", ()) if len(use["buffers"]) > 1]
    for row in data.get("reuse", ()):
        row["pairs"] = [pair for pair in row["pairs"] if not {*pair} & gone]
    data["reuse"] = [row for row in data.get("reuse", ()) if row["pairs"]]
    return Problem.model_validate(data) if data["buffers"] else None


def _shrunk(problem: Problem, worth: Any) -> Problem | None:
    if worth.shrunk_to is None:
        return None
    rows = [row.model_copy(update={"size": worth.shrunk_to} if row.id == worth.id else {}) for row in problem.buffers]
    return replace_fields(problem, buffers=rows)


def repair_faults(rng: random.Random, problem: Problem, plan: Plan, tally: Counter[str]) -> Faults:
    """Yield false statements about repairs: wrong problems or plans, and repairs of problems that fit."""
    options = memplan.ExplainOptions(repairs=3, with_plans=True, time_limit_s=_SECONDS, study_s=_SECONDS / 2)
    found = memplan.explain(problem, options=options)
    fits = oracle.best_score(problem) is not None
    if found.status != "unknown" and fits != (found.status == "fits"):
        yield f"explain: {found.status}, where brute force says {'a plan' if fits else 'none'}"
    if found.repairs is None:
        return
    tally["repairs"] += len(found.repairs.repairs)
    if (found.repairs.status == "fits") != fits and found.status != "unknown":
        yield f"repairs: {found.repairs.status}, where brute force says {'a plan' if fits else 'none'}"
    for repair in found.repairs.repairs:
        if repair.problem is None or repair.plan is None:
            yield f"repairs: {repair.changes} without its problem and plan"
            continue
        yield from (f"repairs: {fault}" for fault in oracle.check(repair.problem, repair.plan.placements))
        if len(repair.changes) < (found.repairs.fewest or 0):
            yield f"repairs: fewest is {found.repairs.fewest}, with one of {len(repair.changes)}"


def size_faults(rng: random.Random, problem: Problem, plan: Plan, tally: Counter[str]) -> Faults:
    """Yield false statements of a sweep over sizes of one pool: each point must equal the best plan of that size."""
    pool = rng.choice(problem.pools)
    sizes = sorted(rng.sample(range(1, 20), 3))
    try:
        found = memplan.sweep(problem, sizes={pool.name: sizes}, each_s=_SECONDS / 3, time_limit_s=_SECONDS)
    except InputError:
        tally["sizes refused"] += 1
        return
    for point, placed in zip(found.points, found.plans or (), strict=True):
        tally["sizes of a pool"] += 1
        sized = problem.with_capacity(point.sizes)
        if placed.peak is not None:
            yield from (f"sweep at {point.sizes}: {fault}" for fault in oracle.check(sized, placed.placements))
        if problem.objective not in ("peak", "cost") or placed.profile is not None:
            continue
        best = oracle.best_score(sized)
        mine = [use.used for use in reversed(placed.pools)]
        goals = [placed.cost, *mine] if problem.objective == "cost" else mine
        if point.status == "infeasible" and best is not None:
            yield f"sweep at {point.sizes}: infeasible, where {best} is a plan"
        if point.status == "optimal" and not (
            best is not None and all(isclose(a or 0, b) for a, b in zip(goals, best, strict=True))
        ):
            yield f"sweep at {point.sizes}: optimal with {goals}, where {best} is the best"


def proof_faults(rng: random.Random, problem: Problem, plan: Plan, tally: Counter[str]) -> Faults:
    """Yield faults of a certificate: the checker must accept it, and must refuse any stronger claim."""
    if plan.status not in ("optimal", "infeasible"):
        return
    found = memplan.certify(problem, plan, time_limit_s=_SECONDS, proof_s=_SECONDS / 2)
    said = f"{found.reason or ''} {found.left_open or ''}"
    if "claim is false" in said or "refuses the proof" in said:
        yield f"certify: {said.strip()}, of a plan that brute force says the same of"
    if not found.text:
        tally["without a certificate"] += 1
        return
    tally["certificates"] += 1
    with TemporaryDirectory() as folder:
        files = Path(folder, "problem.json"), Path(folder, "proof")
        files[0].write_bytes(write_problem(problem))

        def status(lines: list[str]) -> int:
            files[1].write_text("\n".join(lines) + "\n")
            return int(CHECKER.main([*map(str, files)])[0])

        lines = found.text.splitlines()
        if status(lines):
            yield "certify: its own checker refuses the certificate"
        for false in false_claims(lines):
            for changed in (false, _change_lines(false, rng), _false_certificate(false)):
                tally["false certificates"] += 1
                if not status(changed):
                    yield f"certify: the checker takes {changed[2]!r}, where {lines[2]!r} is the best"


def _change_lines(rows: list[str], rng: random.Random) -> list[str]:
    return mutant(rows, rng) if any(line.startswith(("l ", "s ", "set ", "worth ", "end ")) for line in rows) else rows


def _false_certificate(lines: list[str]) -> list[str]:
    """Return a certificate of a claim that is false by one byte, with proofs changed to match."""
    return [_increment_numbers(line) if line.startswith("claim ") else line for line in lines]


def _increment_numbers(line: str) -> str:
    return " ".join(str(int(word) + 1) if word.isdecimal() and int(word) < 2**62 else word for word in line.split())


def header_faults(rng: random.Random, problem: Problem, plan: Plan, tally: Counter[str]) -> Faults:
    """Yield false answers of the C API, if the header can express the problem."""
    if not header_calls.can_state(problem) or (found := header_calls.plan(problem)) is None:
        return
    tally[f"headers {found.status}"] += 1
    yield from (f"header: {fault}" for fault in oracle.check(problem, found.placements) if found.placements)
    if problem.equal_use:
        try:
            use = equal_pools.min_use(problem)
        except equal_pools.TooManyError:
            return
        best: tuple[float, ...] | None = None if use is None else (use,)
    else:
        best = oracle.best_score(problem)
    mine, bound = (found.cost, found.cost_bound) if problem.reuse else (found.peak, found.bound)
    if best is None:
        if found.status not in ("infeasible", "unknown"):
            yield f"header: {found.status}, where there is no plan"
        return
    least = best[0] if problem.reuse else sum(best)
    if found.status in ("infeasible", "invalid") or (found.status == "optimal" and mine != least) or bound > least:
        yield f"header: {found.status} with {mine}, at least {bound}, where {least} is the least"


def posted_to(service: RunningServer) -> Post:

    def post(body: Mapping[str, Any]) -> Mapping[str, Any]:
        answer = service.client.post("/v1/plan", json=body, timeout=60)
        assert answer.status_code == 200, answer.text
        found: Mapping[str, Any] = answer.json()
        return found

    return post


def service_faults(rng: random.Random, problem: Problem, plan: Plan, tally: Counter[str], post: Post) -> Faults:
    """Yield proved plans of a service that are better or worse than those of this process."""
    found = post({"problem": problem.model_dump(mode="json", exclude_defaults=True)})
    tally[f"posted {found['status']}"] += 1
    answer = Plan.model_validate(found)
    yield from (f"service: {fault}" for fault in oracle.check(problem, answer.placements) if answer.placements)
    if {plan.status, answer.status} <= {"optimal", "infeasible"} and plan.profile == answer.profile:
        mine, theirs = ((each.status, each.peak, each.cost) for each in (plan, answer))
        if mine != theirs:
            yield f"service: {theirs}, where this process says {mine}"


QUESTIONS: Mapping[str, Callable[[random.Random, Problem, Plan, Counter[str]], Faults]] = {
    "worth": worth_faults,
    "repairs": repair_faults,
    "sizes": size_faults,
    "proof": proof_faults,
}
"""The questions other than `plan`, of which each problem gets one in turn; for equal pools, only the proof."""


def faults(number: int, problem: Problem, plan: Plan, tally: Counter[str], post: Post | None = None) -> Faults:
    """Yield false answers to one further question about a problem, and of the C header if it applies."""
    rng = random.Random(f"question {number}")
    yield from header_faults(rng, problem, plan, tally)
    name = [*QUESTIONS][number % len(QUESTIONS)]
    if not problem.equal_use or name == "proof":
        yield from QUESTIONS[name](rng, problem, plan, tally)
    if post is not None and number % 3 == 0:
        yield from service_faults(rng, problem, plan, tally, post)
