"""Check an order of operations without memplan: sequence.py GRAPH ORDER. Exit: 0 valid, 2 wrong input, 3 refused.

GRAPH is a JSON file in the format operations-by-bytes/1. ORDER is a JSON list of positions of operations, or an object
with such a list as `order`. An operation that is listed again makes new copies of its tensors, which later operations
read.
"""
# docs/order.md defines which tensors are alive during each run of an operation.

import json, sys
from importlib import import_module
from pathlib import Path

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
orders = import_module(f"{__package__ or ''}.order".lstrip("."))
Refused = orders.Refused


def check(text, order):
    """Return (peak of live bytes, total cost of repeated operations). Raises Refused for an invalid order."""
    graph, steps = orders.Graph(text), json.loads(order)
    steps = steps["order"] if isinstance(steps, dict) else steps
    if not isinstance(steps, list) or any(type(v) is not int or not 0 <= v < len(graph.ops) for v in steps):
        raise ValueError("an order must be a list of positions of operations")
    if any(op.get("regions") or op.get("may_overwrite") for op in graph.ops):
        raise ValueError("ops: must not have regions or may_overwrite")
    ran, again = set(), 0
    for v in steps:
        if missing := graph.before[v] - ran:
            raise Refused(f"operation {v} must run after operation {min(missing)}")
        if v in ran:
            op = graph.ops[v]
            if op.get("once") or any(graph.maker[t] != v for t in op.get("out") or ()):
                raise Refused(f"operation {v} must not run again")
            again += op.get("cost") or 0
        ran.add(v)
    if len(ran) < len(graph.ops):
        raise Refused(f"operation {min({*range(len(graph.ops))} - ran)} must run")
    return peak(graph, steps), again


def peak(graph, steps):
    """Return the peak of live bytes; a tensor's copy is alive from the step that makes it to its last reader."""
    change, end = [0] * (len(steps) + 1), len(steps)
    since, until = {}, {}
    for t in range(len(graph.size)):
        if graph.maker[t] is None and (graph.users[t] or t in graph.lasting):
            since[t], until[t] = 0, 0
    for k, v in enumerate(steps):
        op = graph.ops[v]
        for t in {*(op.get("in") or ()), *(op.get("out") or ())}:
            if graph.maker[t] == v and t in (op.get("out") or ()):
                if t in since:
                    change[since[t]] += graph.size[t]
                    change[until[t] + 1] -= graph.size[t]
                since[t] = k
            until[t] = k
    for t, k in since.items():
        change[k] += graph.size[t]
        change[end if t in graph.lasting else until[t] + 1] -= graph.size[t]
    alive, most = 0, graph.alive_after(set())
    for k, v in enumerate(steps):
        alive += change[k]
        most = max(most, alive + graph.work[v])
    return most


def lower_bound(text):
    """Return a lower bound on the peak of all orders: the largest need of the start, the end or a single operation."""
    graph = orders.Graph(text)
    floors = [graph.alive_after(set()), graph.alive_after({*range(len(graph.ops))})]
    for v, op in enumerate(graph.ops):
        own = {*(op.get("in") or ()), *(op.get("out") or ())}
        floors.append(sum(graph.size[t] for t in own) + graph.work[v])
    return max(floors)


if __name__ == "__main__":
    try:
        with open(sys.argv[1], encoding="utf-8") as graph, open(sys.argv[2], encoding="utf-8") as order:
            most, again = check(graph.read(), order.read())
        print(f"valid: {most} bytes alive at once, {again} for operations that run again")
    except Refused as why:
        sys.exit(print(f"refused: {why}") or 3)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        sys.exit(print(f"wrong input: {error!r}") or 2)
