"""Check a lower bound on the live peak of all orders, without memplan: order.py GRAPH CERTIFICATE.

Exit status: 0 proved, 2 wrong input, 3 refused.
"""
# GRAPH is operations-by-bytes/1 in JSON; docs/certificates.md proves that the checker's rules are sound.

import hashlib, json, sys
from importlib import import_module
from pathlib import Path

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
searched = import_module(f"{__package__ or ''}.searched".lstrip("."))
Refused = searched.Refused


def unique_object(pairs):
    """Return a JSON object as a dict. Raises ValueError if a key occurs twice."""
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("each key of a JSON object must occur once")
    return dict(pairs)


class Graph:
    """The operations of a graph, and the tensors that they read and write. A resident tensor counts as 0 bytes."""

    def __init__(self, text):
        """Read a graph, and derive its dependencies. Raises ValueError for wrong sizes or a wrong operation order."""
        data = json.loads(text, object_pairs_hook=unique_object)
        self.ops, apart = data.get("ops") or [], set(data.get("resident") or ())
        self.size = [0 if t in apart else size for t, size in enumerate(data.get("size") or ())]
        self.lasting, there = set(data.get("kept") or ()) | apart, set(data.get("given") or ()) | apart
        self.maker, self.users = [None] * len(self.size), [set() for _ in self.size]
        self.before = [set(op.get("after") or ()) for op in self.ops]
        written, read = [None] * len(self.size), [set() for _ in self.size]
        for k, op in enumerate(self.ops):
            for t in op.get("out") or ():
                if self.maker[t] is None and t not in there:
                    self.maker[t] = k
            for t in op.get("in") or ():
                self.before[k] |= {written[t]} - {None}
                read[t].add(k)
            for t in op.get("out") or ():
                self.before[k] |= (read[t] | {written[t]}) - {None}
                written[t], read[t] = k, set()
            self.before[k].discard(k)
            for t in [*(op.get("in") or ()), *(op.get("out") or ())]:
                if self.maker[t] != k:
                    self.users[t].add(k)
        # Any alternative of an operation may run, so a lower bound may count only the least work of all alternatives.
        ways = [[op, *(op.get("alternatives") or ())] for op in self.ops]
        self.work = [min(way.get("work") or 0 for way in each) for each in ways]
        made = [0] * len(self.ops)
        for t, k in enumerate(self.maker):
            if k is not None:
                made[k] += self.size[t]
        # An operation with regions may need fewer bytes than all its outputs, so its work may be as low as -made.
        fewest = [-made[k] if op.get("regions") else 0 for k, op in enumerate(self.ops)]
        whole = zip(self.size + self.work, [0] * len(self.size) + fewest, strict=True)
        if any(type(size) is not int or size < least for size, least in whole):
            raise ValueError("sizes and work must be integers of at least 0")
        if any(not 0 <= j < k for k, some in enumerate(self.before) for j in some):
            raise ValueError("operations must be listed in an order that satisfies their dependencies")

    def closure(self, v, rows):
        """Return the operations reachable from operation v along `rows`; v is included only if it is on a cycle."""
        reached, waiting = set(), [v]
        while waiting:
            more = rows[waiting.pop()] - reached
            reached |= more
            waiting += more
        return reached

    def alive_after(self, done):
        """Return the number of live bytes when exactly the operations in `done` have run."""
        alive = 0
        for t, size in enumerate(self.size):
            is_there = self.maker[t] is None or self.maker[t] in done
            alive += size if is_there and (t in self.lasting or self.users[t] - done) else 0
        return alive

    def forced_neighbours(self, v):
        """Return two sets: the operations that run before v in every order, and the operations that run after v."""
        after = [set() for _ in self.ops]
        for k, some in enumerate(self.before):
            for j in some:
                after[j].add(k)
        return self.closure(v, self.before), self.closure(v, after)


def bytes_of_state(graph, done):
    """Return the live bytes in the state `done` (a set of operations). Raises Refused unless every order reaches it."""
    for k in range(len(graph.ops)):
        if k not in done and graph.closure(k, graph.before) < done:
            raise Refused("every order must pass through the state")
        if k in done and not graph.before[k] <= done:
            raise Refused("a state must contain all predecessors of its operations")
    return graph.alive_after(done)


def bytes_while(graph, v, lines):
    """Return a lower bound on the live bytes while operation v runs: a flow from its predecessors to its successors.

    A line `t T K F` sends F bytes of tensor T to its reader, operation K, or to `-` if T is kept. A line `o K J F`
    sends F bytes from operation K to operation J, which must run later.
    """
    source, sink = graph.forced_neighbours(v)
    sink.add(v)
    spent, gained, net = [0] * len(graph.size), 0, [0] * len(graph.ops)
    for kind, *words in lines:
        a, b, amount = int(words[0]), None if words[1] == "-" else int(words[1]), int(words[2])
        start = graph.maker[a] if kind == "t" else a
        may = b in graph.users[a] or (b is None and a in graph.lasting) if kind == "t" else b in graph.before[a]
        if min(a, amount) < 0 or kind not in ("t", "o") or not may or start in sink or b in source:
            raise Refused("a flow must follow a tensor or a dependency")
        if kind == "t":
            spent[a] += amount
        if start is None or start in source:
            gained += amount if kind == "t" else 0
        else:
            net[start] -= amount
        if b is not None and b not in sink:
            net[b] += amount
    if any(net) or any(amount > graph.size[t] for t, amount in enumerate(spent)):
        raise Refused("a flow must be conserved and not exceed its tensors")
    op = graph.ops[v]
    over = {op["out"][k] for k, j in op.get("may_overwrite") or () if op["in"][j] not in graph.lasting}
    made = sum(size for t, size in enumerate(graph.size) if graph.maker[t] == v and t not in over)
    return gained + made + graph.work[v]


def check(text, lines):
    """Return the sentence that a certificate proves about a graph. Raises Refused for a wrong certificate."""
    head, (word, claimed), (kind, *which), *rest = [line.split() for line in lines if line.strip()]
    graph = Graph(text)
    if head != ["memplan-order/1"] or word != "least":
        raise Refused("the certificate must have the format memplan-order/1")
    if kind == "while":
        peak = bytes_while(graph, int(which[0]), rest)
    elif kind == "state":
        peak = bytes_of_state(graph, set(map(int, which)))
    else:
        searched.no_order(graph, int(claimed) - 1, [[kind, *which], *rest])
        peak = int(claimed)
    if peak < int(claimed):
        raise Refused(f"the proof must reach the claim, got only {peak} live bytes")
    digest = hashlib.sha256(text.encode()).hexdigest()
    return (
        f"proved: no order of the operations has fewer than {int(claimed)} bytes alive at once, graph sha256 {digest}"
    )


if __name__ == "__main__":
    try:
        with open(sys.argv[1], encoding="utf-8") as graph, open(sys.argv[2], encoding="utf-8") as certificate:
            print(check(graph.read(), certificate.read().splitlines()))
    except Refused as why:
        sys.exit(print(f"refused: {why}") or 3)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        sys.exit(print(f"wrong input: {error!r}") or 2)
