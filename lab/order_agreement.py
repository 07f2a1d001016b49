"""Compare certificates of orders with enumeration: `python -m lab.order_agreement GRAPHS [SEED] [--mutants 5]`.

The proved bound of each random graph is certified in several ways: by a short proof, and by complete searches forward
and backward. The checker must accept these certificates, but no mutant that claims more than the least peak, which is
found by enumeration. Then joins, swaps and runs (the steps of a proof by search) are drawn. A search with all steps
that the checker accepts must still find an order with the least peak. The tests try a few graphs.
"""

import random
import sys
from collections import Counter
from typing import Any

from lab.support.cases import run_cases
from memplan.checkers import order as untyped
from memplan.checkers import searched as untyped_too
from memplan.programs.operations.graph import OperationGraph, write_graph
from memplan.programs.order.certificate import certify_order
from memplan.programs.order.search.searched import search_lines
from memplan.programs.order.search.solve import order_operations
from tests.support.operation_graphs import add_pairs, min_peak, random_graph

CHECKER: Any = untyped
SEARCHED: Any = untyped_too
WRONG_INPUT = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
_WORDS = ["0", "1", "2", "5", "-", "t", "o", "state", "while", "all", "run", "as", "join", "swap", "0:1", "1:2", "-1"]


def draw(seed: int) -> OperationGraph:
    """Return a random graph of four to nine operations, often with equal operations or in-place outputs."""
    rng = random.Random(seed)
    graph = random_graph(rng, 4 + seed % 6)
    if seed % 3 == 0:
        return add_pairs(rng, graph)
    return _double_operations(graph) if seed % 3 == 1 and len(graph.ops) < 6 else graph


def _double_operations(graph: OperationGraph) -> OperationGraph:
    """Return a graph with each operation duplicated; both copies read the same given input tensors."""
    n, m = len(graph.ops), len(graph.size)
    fields = graph.model_dump(by_alias=True, exclude_defaults=True)
    made = {t for t in range(m) if graph.maker[t] is not None}
    again = [
        row
        | {key: [t + m if t in made else t for t in row.get(key, ())] for key in ("in", "out")}
        | {"after": [k + n for k in row.get("after", ())]}
        for row in fields["ops"]
    ]
    kept = [*graph.kept, *(t + m for t in graph.kept if t in made)]
    return OperationGraph.model_validate(
        fields | {"size": [*graph.size] * 2, "kept": kept, "ops": [*fields["ops"], *again]}
    )


def is_accepted(text: str, lines: list[str]) -> bool:
    """Return True if the checker accepts a certificate for a graph, given as text."""
    try:
        CHECKER.check(text, lines)
    except (CHECKER.Refused, *WRONG_INPUT):
        return False
    return True


def mutant(lines: list[str], rng: random.Random) -> list[str]:
    """Return a certificate with one or two random changes: a word is changed, or a line removed, repeated or added."""
    found = list(lines)
    for _ in range(rng.randint(1, 2)):
        k, kind = rng.randrange(2, len(found)), rng.randrange(5)
        if kind == 0 and len(found) > 3:
            del found[k]
        elif kind == 1:
            found.insert(k, found[rng.randrange(2, len(found))])
        elif kind == 2:
            found.append("all 1")
        else:
            words = found[k].split()
            words[rng.randrange(len(words))] = rng.choice([*_WORDS, str(rng.randrange(12))])
            found[k] = " ".join(words)
    return found


def explore_orders(graph: OperationGraph, budget: int, rng: random.Random, tally: Counter[str]) -> bool:
    """Search by random steps that the checker accepts; return True if they find an order within `budget` bytes.

    The steps are joins, swaps and runs, as in a proof by search.
    """
    macros = SEARCHED.Macros(CHECKER.Graph(write_graph(graph).decode()))
    for _ in range(3 * len(graph.ops)):
        u, v = rng.choice([*macros.rows]), rng.choice([*macros.rows])
        tally["joins"] += _is_step_accepted(lambda u=u, v=v: macros.join(u, v))
    names = [*macros.rows]
    is_forward = rng.random() < 0.5
    try:
        part = rng.sample(names, rng.randint(1, len(names))) if rng.random() < 0.3 else names
        search = SEARCHED.Search(macros, part, is_forward, budget)
    except SEARCHED.Refused:
        search = SEARCHED.Search(macros, names, is_forward, budget)
    part = search.part
    for _ in range(20 if len(part) > 1 else 0):
        some = rng.sample(part, 2 * rng.randint(1, len(part) // 2))
        tally["swaps"] += _is_step_accepted(lambda some=some: search.swap([*zip(some[::2], some[1::2], strict=True)]))
    try:
        while search.at < len(search.waiting):
            state = search.next_state()
            if search.swaps and rng.random() < 0.5:
                swaps = [rng.randrange(len(search.swaps)) for _ in range(rng.randint(1, 3))]
                if _is_step_accepted(lambda state=state, swaps=swaps: search.rename(state, swaps)):
                    tally["renamed"] += 1
                    continue
            for _ in range(20):
                row = rng.sample(part, rng.randint(1, min(4, len(part))))
                if _is_step_accepted(lambda state=state, row=row: search.commit(state, row)):
                    tally["runs"] += 1
                    break
            else:
                search.branch(state)
    except SEARCHED.Refused as refused:
        return "no order stays within" in str(refused)
    return False


def _is_step_accepted(step: Any) -> bool:
    """Run a proof step, and return True if the checker accepts it."""
    try:
        step()
    except SEARCHED.Refused as refused:
        if "no order stays within" in str(refused):
            raise
        return False
    return True


def faults(seed: int, tally: Counter[str], mutants: int = 5) -> list[str]:
    """Return a line for each fault found in the certificates of a random graph or in the checker's verdicts."""
    graph, rng, found = draw(seed), random.Random(seed), []
    best, text = min_peak(graph), write_graph(graph).decode()
    result = order_operations(graph, deterministic=True)
    certificate = certify_order(graph, result)
    assert result.witness is not None
    tally[f"{result.witness.kind}, {'certified' if certificate.text else 'not certified'}"] += 1
    proofs = [certificate.text.splitlines()] if certificate.text else []
    every = tuple(range(len(graph.ops)))
    for direction in ("forward", "backward"):
        try:
            lines = search_lines(graph, result.peak, every, direction, 10)
        except SEARCHED.Refused:
            # Only the first part of the graph is searched, so a peak in another part gets no proof by search.
            tally["no search"] += 1
            continue
        proofs.append(["memplan-order/1", f"least {result.peak}", *lines])
    for proof in proofs:
        tally["certificates"] += 1
        if not is_accepted(text, proof):
            found.append(f"is refused: {proof}")
        false = [proof[0], f"least {best + 1}", *proof[2:]]
        for k in range(mutants + 1):
            tally["mutants"] += 1
            changed = mutant(false, rng) if k else false
            if is_accepted(text, changed):
                found.append(f"is accepted for {best + 1}: {changed}")
    for _ in range(2):
        tally["wandered"] += 1
        if not explore_orders(graph, best, rng, tally):
            found.append(f"no order is found within {best}, which there is")
    return found


if __name__ == "__main__":
    sys.exit(run_cases("order_agreement", faults))
