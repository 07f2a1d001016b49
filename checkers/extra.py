"""Check a lower bound on recomputation cost, without memplan: extra.py GRAPH LIMIT COST [OPERATION].

It proves that no sequence of operations within LIMIT bytes costs less than COST or, with COST `none`, that no sequence
exists. GRAPH is a JSON file in the format operations-by-bytes/1. Each operation must have a cost, and wait only for the
tensors that it reads. The proof is that freeing the bytes above LIMIT during OPERATION costs at least COST. Without
OPERATION, the checker tries each operation, and then visits all states.
"""
# When an operation runs for the first time, all its predecessors have run and none of its successors has run.
# A tensor made before an operation's first run and read afterwards stays in memory, or must be computed again.
# If the tensors needed later exceed the budget, some must be computed again; the cheapest choice bounds the cost.
# A state of the search has two bit masks: the operations that have run, and the tensors in memory.
# The checker visits all states that cheaper sequences can reach, so it cannot miss a cheaper sequence.
# Tensors can also be dropped later, so the search drops a minimal set only when the next operation would not fit.

import heapq, sys
from fractions import Fraction
from importlib import import_module
from pathlib import Path

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
orders = import_module(f"{__package__ or ''}.order".lstrip("."))
Refused = orders.Refused
STATES = 300_000


def bit_set(numbers):
    """Return the bit mask whose set bits are the given numbers."""
    return sum(1 << k for k in set(numbers))


def numbers_of_bits(mask):
    """Yield the positions of the set bits of a mask, in ascending order."""
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1


class Runs:
    """The executions of a graph as states and transitions between states; operations may run again."""

    def __init__(self, text, limit):
        """Read a graph. Raises ValueError for regions, alternatives, overwriting or operations without a cost."""
        graph = self.graph = orders.Graph(text)
        ops, self.limit = graph.ops, limit
        if any(op.get(word) for op in ops for word in ("regions", "may_overwrite", "alternatives", "after")):
            raise ValueError("ops: must not have regions, alternatives, `after` or `may_overwrite`")
        if any(graph.maker[t] != v for v, op in enumerate(ops) for t in op.get("out") or ()):
            raise ValueError("ops: must not change tensors in place")
        if any(type(op.get("cost")) is not int or op["cost"] < 0 for op in ops):
            raise ValueError("ops: each must have a cost of at least 0")
        self.size, self.maker, self.work = graph.size, graph.maker, graph.work
        self.needs = [bit_set(op.get("in") or ()) for op in ops]
        self.makes = [bit_set(op.get("out") or ()) for op in ops]
        self.before = [bit_set(some) for some in graph.before]
        self.cost = [op["cost"] for op in ops]
        self.is_again = [not op.get("once") for op in ops]
        self.kept = bit_set(t for t in graph.lasting if graph.size[t])
        self.given = bit_set(
            t for t, v in enumerate(graph.maker) if v is None and (graph.users[t] or t in graph.lasting)
        )
        self.every = bit_set(range(len(ops)))

    def bytes_of(self, tensors):
        """Return the total size, in bytes, of the tensors in a bit mask."""
        return sum(self.size[t] for t in numbers_of_bits(tensors))

    def missing_runs(self, done, memory):
        """Return (tensors needed later, operations to run again, cost of these), or None if one of them cannot."""
        made, wanted = self.given, self.kept
        for v in range(len(self.cost)):
            if done >> v & 1:
                made |= self.makes[v]
            else:
                wanted |= self.needs[v]
        wanted &= made
        missing, again, cost = wanted & ~memory, 0, 0
        while missing:
            t = (missing & -missing).bit_length() - 1
            missing &= missing - 1
            v = self.maker[t]
            if v is None or not self.is_again[v]:
                return None
            if not again >> v & 1:
                again, cost = again | 1 << v, cost + self.cost[v]
                missing |= self.needs[v] & ~memory & ~wanted
                wanted |= self.needs[v]
        return wanted, again, cost

    def useful_tensors(self, done, wanted, again, slack):
        """Return a bit mask of the tensors that may still be read if the remaining extra cost is below `slack`."""
        for v in reversed(range(len(self.cost))):
            runs = self.is_again[v] and self.makes[v] & wanted and (again >> v & 1 or self.cost[v] < slack)
            if not done >> v & 1 or runs:
                wanted |= self.needs[v]
        return wanted

    def removable_sets(self, tensors, over):
        """Yield the minimal subsets of `tensors` that have at least `over` bytes in total, as bit masks."""
        rows = sorted(numbers_of_bits(tensors), key=lambda t: -self.size[t])

        def choose(k, over, least):
            if over <= 0:
                if least > -over:
                    yield 0
                return
            for j in range(k, len(rows)):
                size = self.size[rows[j]]
                for others in choose(j + 1, over - size, min(least, size)) if size else ():
                    yield others | 1 << rows[j]

        yield from choose(0, over, self.bytes_of(tensors) + 1)

    def next_states(self, done, memory):
        """Yield (operations done, tensors in memory, cost of the step) for each next state; first runs cost nothing."""
        for v in range(len(self.cost)):
            is_again = done >> v & 1
            if self.needs[v] & ~memory or (self.before[v] & ~done if not is_again else not self.is_again[v]):
                continue
            if is_again and not self.makes[v] & ~memory:
                continue
            held = memory | self.makes[v]
            own = self.needs[v] | self.makes[v]
            over = self.bytes_of(held) + self.work[v] - self.limit
            for others in self.removable_sets(held & ~own, over) if over > 0 else (0,):
                yield done | 1 << v, held & ~others, self.cost[v] if is_again else 0


def excess_and_removable(runs, v):
    """Return the bytes above the limit when operation v first runs, and the choices (bytes, cost) of freeing some.

    A choice is to free the tensors of one operation before v and to run that operation again later.
    """
    before, behind = runs.graph.forced_neighbours(v)
    own, of_maker = runs.needs[v] | runs.makes[v], {}
    there = runs.bytes_of(own) + runs.work[v]
    for t, size in enumerate(runs.size):
        u, is_needed = runs.maker[t], runs.kept >> t & 1 or runs.graph.users[t] & behind
        if size and is_needed and not own >> t & 1 and (u is None or u in before):
            there += size
            if u is not None and runs.is_again[u]:
                of_maker[u] = of_maker.get(u, 0) + size
    return there - runs.limit, [(size, runs.cost[u]) for u, size in of_maker.items()]


def costs_at_least(rows, over, cost, nodes=10_000):
    """Return True if it is proved that any rows (bytes, cost) with `over` bytes or more cost at least `cost`."""
    rows = sorted(rows, key=lambda row: Fraction(row[1], row[0]))

    def fractional_cost(k, over):
        spent = 0
        for size, price in rows[k:]:
            if over <= 0:
                break
            spent, over = spent + price * Fraction(min(size, over), size), over - size
        return spent if over <= 0 else float("inf")

    stack = [(0, over, cost)]
    while stack:
        k, over, left = stack.pop()
        if fractional_cost(k, over) >= left:
            continue
        nodes -= 1
        if over <= 0 or nodes < 0:
            return False
        stack += [(k + 1, over, left), (k + 1, over - rows[k][0], left - rows[k][1])]
    return True


def first_too_costly(runs, cost, operations):
    """Return the first operation whose excess bytes cost at least `cost` to free, or None if there is none."""
    return next((v for v in operations if costs_at_least(*excess_and_removable(runs, v)[::-1], cost)), None)


def check(text, limit, cost, states=STATES):
    """Check that no sequence is cheaper, and return the number of visited states. Raises Refused if one is cheaper."""
    runs = Runs(text, limit)
    cost = float("inf") if cost is None else cost
    if first_too_costly(runs, cost, range(len(runs.cost))) is not None:
        return 0
    best, queue = {}, []

    def visit(done, memory, spent):
        """Queue a state, unless it must cost the claimed cost or more, or was reached before at no higher cost."""
        needed = runs.missing_runs(done, memory)
        if needed is None or spent + needed[2] >= cost:
            return
        memory &= runs.useful_tensors(done, needed[0], needed[1], cost - spent - needed[2])
        if best.get((done, memory), spent + 1) > spent:
            best[done, memory] = spent
            heapq.heappush(queue, (spent + needed[2], -done.bit_count(), spent, done, memory))
            if len(best) > states:
                raise Refused(f"the search must visit at most {states} states")

    if runs.bytes_of(runs.given) <= limit:
        visit(0, runs.given, 0)
    while queue:
        _, _, spent, done, memory = heapq.heappop(queue)
        if best[done, memory] < spent:
            continue
        if done == runs.every and not runs.kept & ~memory:
            raise Refused(f"a sequence within {limit} bytes costs {spent} for operations that run again")
        for then, held, more in runs.next_states(done, memory):
            visit(then, held, spent + more)
    return len(best)


def check_one_operation(text, limit, cost, v):
    """Return text naming operation v, whose excess bytes prove the claimed cost. Raises Refused if they do not."""
    runs = Runs(text, limit)
    if not 0 <= v < len(runs.cost):
        raise ValueError(f"OPERATION: must be an operation of the graph, got {v}")
    if first_too_costly(runs, float("inf") if cost is None else cost, [v]) is None:
        raise Refused(f"freeing the bytes above the limit during operation {v} must cost at least the claimed cost")
    return f"what must be away beside operation {v}"


if __name__ == "__main__":
    try:
        with open(sys.argv[1], encoding="utf-8") as graph:
            text, limit = graph.read(), int(sys.argv[2])
        cost = None if sys.argv[3] == "none" else int(sys.argv[3])
        if len(sys.argv) > 4:
            proof = check_one_operation(text, limit, cost, int(sys.argv[4]))
        else:
            proof = f"{check(text, limit, cost)} states"
        what = "is" if cost is None else f"costs less than {cost}"
        print(f"proved: no sequence {what} within {limit} bytes, by {proof}")
    except Refused as why:
        sys.exit(print(f"refused: {why}") or 3)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        sys.exit(print(f"wrong input: {error!r}") or 2)
