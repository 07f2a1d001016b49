"""Hold the choice of weights for fast memory against others: python -m lab.weights exact [N] | greedy [FAST [OTHER]].

`exact`: N drawn programs (1,000), the bytes read from slow memory beside all sets of weights. `greedy`: MobileNetV2 in
int8 with so much of the fastest memory (256KiB) and, for what is computed, another (4MiB), beside two greedy planners,
largest first and most traffic a byte first.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

from memplan.capabilities.adapting import ProblemOptions, adapted
from memplan.planner.errors import OptionError
from memplan.planner.liveness import problem_of
from memplan.planner.liveness.weights import Weight, weights_of
from memplan.planner.model.problem import Problem
from memplan.planner.operations.operations import Operations, operations_from
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.solve import solve

NETWORK = Path(__file__).parents[1] / "examples" / "networks" / "mobilenet_v2.json"


def drawn(seed: int) -> tuple[Operations, int]:
    """Return a small program with two or three weights, and the bytes of the fast memory."""
    draw = random.Random(seed)
    names = [f"w{k}" for k in range(draw.randint(2, 3))]
    rows: list[dict[str, Any]] = [
        {"id": name, "size": draw.randint(1, 9), "alignment": draw.choice((1, 1, 2, 4))} for name in names
    ]
    body: list[dict[str, Any]] = []
    made: list[str] = []
    for k in range(draw.randint(2, 4)):
        rows.append({"id": f"t{k}", "size": draw.randint(1, 8)})
        read = draw.sample(made, min(len(made), draw.randint(0, 2))) + draw.sample(names, draw.randint(0, 2))
        body.append({"op": "layer", "inputs": read, "outputs": [f"t{k}"]})
        made.append(f"t{k}")
    content = {"results": made[-1:], "constants": names, "buffers": rows, "body": body}
    return operations_from({"functions": {"main": content}}), draw.randint(6, 30)


def fits(order: Sequence[tuple[int, int, int, int]], size: int) -> bool:
    """Return True if buffers fit (bytes, alignment, start, end), each as low as those before it let it lie.

    Of any plan, the order of its offsets gives one that lies no higher, so all orders together miss none.
    """
    placed: list[tuple[int, int, int, int]] = []
    for width, step, start, end in order:
        offset = 0
        for low, high, first, last in sorted(placed):
            if first < end and start < last and offset + width > low:
                offset = max(offset, -(-high // step) * step)
        if offset + width > size:
            return False
        placed.append((offset, offset + width, start, end))
    return True


def least_slow_traffic(problem: Problem, weights: list[Weight], size: int) -> int | None:
    """Return the fewest bytes read of weights outside a memory of so many bytes, by trying all sets of them."""
    start, end = int(problem.buffers.start.min()), int(problem.buffers.end.max())
    computed = [(row.size, row.alignment, *row.intervals[0]) for row in problem.buffers]
    found = []
    for count in range(len(weights) + 1):
        for inside in combinations(weights, count):
            rows = [(w.size, w.alignment, start, end) for w in inside]
            if any(fits(order, size) for order in permutations([*computed, *rows])):
                found.append(sum(w.traffic for w in weights if w not in inside))
    return min(found, default=None)


def differs(seed: int) -> str | None:
    """Say how the choice of one drawn program differs from the best of all sets of weights; None where it does not."""
    operations, size = drawn(seed)
    given = problem_of(operations)
    least = least_slow_traffic(given, weights_of(operations), size)
    options = ProblemOptions(capacity=(f"ram={size}", "flash=unlimited"), weights="choose")
    problem = adapted(given, operations, options)
    plan = solve(problem, time_limit_s=20)
    if least is None:
        return None if plan.status == "infeasible" else f"{seed}: {plan.status}, and nothing fits"
    if plan.status == "optimal" and plan.cost == least and not verify(problem, plan):
        return None
    return f"{seed}: {plan.status} with {plan.cost} bytes, and {least} are the fewest"


def exact(count: int) -> int:
    """Print the drawn programs whose choice is not the best; return how many there are."""
    wrong = [found for seed in range(count) if (found := differs(seed)) is not None]
    print(f"{count - len(wrong)} of {count} exact", *wrong, sep="\n")
    return len(wrong)


def mobilenet() -> Operations:
    """Return MobileNetV2 as a program with its weights, of its graph."""
    graph = json.loads(NETWORK.read_text())
    name = [f"t{k}" for k in range(len(graph["size"]))]
    made = {k for op in graph["ops"] for k in op["out"]}
    constants = [name[k] for k in graph["resident"]]
    params = [row for k, row in enumerate(name) if k not in made and row not in constants]
    body = [
        {"op": op["kind"], "inputs": [name[k] for k in op.get("in", ())], "outputs": [name[k] for k in op["out"]]}
        for op in graph["ops"]
    ]
    buffers = [{"id": row, "size": size, "alignment": 16} for row, size in zip(name, graph["size"], strict=True)]
    content = {"params": params, "results": [name[k] for k in graph["kept"]], "constants": constants}
    return operations_from({"functions": {"main": content | {"buffers": buffers, "body": body}}})


def filled(problem: Problem, order: list[int]) -> float | None:
    """Return the cost of first fit in an order, each buffer in the first pool that has room for it; None for none."""
    table, cost = problem.buffers, 0.0
    placed: list[Any] = []
    prices = [pool.cost for pool in problem.pools]
    for i in order:
        for q in problem.allowed_pools(i):
            others = sorted(
                (low, high)
                for pool, low, high, start, end in placed
                if pool == q and start < table.end[i] and table.start[i] < end
            )
            offset = 0
            for low, high in others:
                if offset + table.size[i] <= low:
                    break
                offset = max(offset, -(-high // int(table.alignment[i])) * int(table.alignment[i]))
            size = problem.pools[q].size
            if size is None or offset + table.size[i] <= size:
                placed.append((q, offset, offset + int(table.size[i]), int(table.start[i]), int(table.end[i])))
                cost += prices[q] * int(table.traffic[i] if table.traffic[i] >= 0 else table.size[i])
                break
        else:
            return None
    return cost


def orders(problem: Problem) -> Iterator[tuple[str, list[int]]]:
    """Yield the names of greedy planners, and their orders."""
    table, rows = problem.buffers, range(len(problem.buffers))
    traffic = [int(table.traffic[i] if table.traffic[i] >= 0 else table.size[i]) for i in rows]
    yield "largest first", sorted(rows, key=lambda i: -int(table.size[i]))
    yield (
        "most traffic a byte first",
        sorted(rows, key=lambda i: (-traffic[i] / max(1, int(table.size[i])), -int(table.size[i]))),
    )
    yield "most traffic first", sorted(rows, key=lambda i: -traffic[i])


def greedy(fast: str, other: str, limit_s: float = 10) -> bool:
    """Print the traffic x cost of MobileNetV2 by greedy planners and by memplan; return whether none is better."""
    operations = mobilenet()
    options = ProblemOptions(capacity=(f"tcm={fast}", f"sram={other}", "flash=unlimited"), weights="choose")
    problem = adapted(problem_of(operations), operations, options)
    known = {name: filled(problem, order) for name, order in orders(problem)}
    began = time.process_time()
    plan = solve(problem, time_limit_s=limit_s)
    assert plan.cost is not None
    assert not verify(problem, plan)
    for name, cost in known.items():
        print(f"{name:26} {'does not fit' if cost is None else f'{cost:14,.0f}'}")
    bound = f"at least {plan.cost_lower_bound:,.0f}, {plan.status}"
    print(f"{'memplan':26} {plan.cost:14,.0f}  {bound}, {time.process_time() - began:.1f} s of CPU")
    return all(cost is None or plan.cost <= cost for cost in known.values())


def main(arguments: list[str]) -> int:
    """Run what was asked for; return the exit status."""
    match arguments:
        case ["exact", *count]:
            return min(1, exact(int(count[0]) if count else 1_000))
        case ["greedy", *sizes]:
            fast, other = (sizes + ["256KiB", "4MiB"][len(sizes) :])[:2]
            return 0 if greedy(fast, other) else 1
    raise OptionError("lab.weights: must be exact [N] or greedy [FAST [OTHER]]")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
