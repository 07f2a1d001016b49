"""Check a lower bound of all orders without memplan: order.py GRAPH CERTIFICATE; exit 0 proved, 3 refused, 2 wrong."""
# GRAPH is operations-by-bytes/1 in JSON. docs/certificates.md proves the rules sound.

import hashlib, json, sys
from importlib import import_module
from pathlib import Path

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
searched = import_module(f"{__package__ or ''}.searched".lstrip("."))
Refused = searched.Refused


def unique_object(pairs):
    """Return a JSON object; raises ValueError if it has a key twice."""
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


class Graph:
    """Operations, and the tensors that they read and make; a resident tensor counts 0 bytes."""

    def __init__(self, text):
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
        # By any of its alternatives, an operation needs at least the smallest work among them.
        ways = [[op, *(op.get("alternatives") or ())] for op in self.ops]
        self.work = [min(way.get("work") or 0 for way in each) for each in ways]
        made = [0] * len(self.ops)
        for t, k in enumerate(self.maker):
            if k is not None:
                made[k] += self.size[t]
        # An operation with regions may have negative work, at least -made, as it may not need all outputs at once.
        fewest = [-made[k] if op.get("regions") else 0 for k, op in enumerate(self.ops)]
        whole = zip(self.size + self.work, [0] * len(self.size) + fewest, strict=True)
        if any(type(size) is not int or size < least for size, least in whole):
            raise ValueError("bytes that are no number of them")
        if any(not 0 <= j < k for k, some in enumerate(self.before) for j in some):
            raise ValueError("operations that do not run in the given order")

    def closure(self, v, rows):
        """Return the operations reachable from operation v by `rows`, including v only if it is on a cycle."""
        reached, waiting = set(), [v]
        while waiting:
            more = rows[waiting.pop()] - reached
            reached |= more
            waiting += more
        return reached

    def alive_after(self, done):
        """Return the bytes that are alive when exactly the operations `done` have run."""
        alive = 0
        for t, size in enumerate(self.size):
            is_there = self.maker[t] is None or self.maker[t] in done
            alive += size if is_there and (t in self.lasting or self.users[t] - done) else 0
        return alive

    def forced_neighbours(self, v):
        """Return the operations that precede operation v in every order, and the operations that follow it."""
        after = [set() for _ in self.ops]
        for k, some in enumerate(self.before):
            for j in some:
                after[j].add(k)
        return self.closure(v, self.before), self.closure(v, after)


def bytes_of_state(graph, done):
    """Return the bytes alive once the operations `done` have run; raises Refused unless every order passes there."""
    for k in range(len(graph.ops)):
        if k not in done and graph.closure(k, graph.before) < done:
            raise Refused("operations that may run before the state is reached")
        if k in done and not graph.before[k] <= done:
            raise Refused("a state that no order has")
    return graph.alive_after(done)


def bytes_while(graph, v, lines):
    """Return a lower bound on the bytes alive while operation v runs, by a flow from operations before it to after it.

    A line `t T K F` sends F bytes of tensor T to operation K, which reads it, or to `-` if it is kept. A line `o K J F`
    sends F bytes from operation K to J, where K must run before J.
    """
    source, sink = graph.forced_neighbours(v)
    sink.add(v)
    spent, gained, net = [0] * len(graph.size), 0, [0] * len(graph.ops)
    for kind, *words in lines:
        a, b, amount = int(words[0]), None if words[1] == "-" else int(words[1]), int(words[2])
        start = graph.maker[a] if kind == "t" else a
        may = b in graph.users[a] or (b is None and a in graph.lasting) if kind == "t" else b in graph.before[a]
        if min(a, amount) < 0 or kind not in ("t", "o") or not may or start in sink or b in source:
            raise Refused("a flow that goes where it cannot")
        if kind == "t":
            spent[a] += amount
        if start is None or start in source:
            gained += amount if kind == "t" else 0
        else:
            net[start] -= amount
        if b is not None and b not in sink:
            net[b] += amount
    if any(net) or any(amount > graph.size[t] for t, amount in enumerate(spent)):
        raise Refused("a flow that is not kept, or larger than a tensor")
    op = graph.ops[v]
    over = {op["out"][k] for k, j in op.get("may_overwrite") or () if op["in"][j] not in graph.lasting}
    made = sum(size for t, size in enumerate(graph.size) if graph.maker[t] == v and t not in over)
    return gained + made + graph.work[v]


def check(text, lines):
    """Return the statement that a certificate proves about a graph, as a sentence; raises Refused."""
    head, (word, claimed), (kind, *which), *rest = [line.split() for line in lines if line.strip()]
    graph = Graph(text)
    if head != ["memplan-order/1"] or word != "least":
        raise Refused("it is of another format")
    if kind == "while":
        peak = bytes_while(graph, int(which[0]), rest)
    elif kind == "state":
        peak = bytes_of_state(graph, set(map(int, which)))
    else:
        searched.no_order(graph, int(claimed) - 1, [[kind, *which], *rest])
        peak = int(claimed)
    if peak < int(claimed):
        raise Refused(f"only {peak} bytes are shown to be alive")
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
