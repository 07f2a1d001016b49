"""Check a schedule over a link, without memplan: transfers.py GRAPH STEPS LINK. Exit: 0 valid, 2 wrong, 3 refused.

GRAPH is a JSON file in the format operations-by-bytes/1, where each operation has a cost. STEPS is a JSON list of
`{"kind", "what", "start"}`, or an object with this list as `steps`. LINK is the number of bytes moved per unit of time
(of cost). The output is the peak of live bytes and the total time.
"""
# Each step is checked against earlier steps by the rules of docs/order.md, then live bytes are counted.

import json, sys
from fractions import Fraction
from importlib import import_module
from pathlib import Path

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
orders = import_module(f"{__package__ or ''}.order".lstrip("."))
Refused = orders.Refused
KINDS = ("run", "send", "fetch")


class Copy:
    """A copy of a tensor in memory; step `born` makes the copy, which is complete at time `ready`.

    `uses` lists (step, end time) of each use.
    """

    def __init__(self, tensor, born, ready):
        self.tensor, self.born, self.ready, self.uses = tensor, born, ready, [(born, ready)]

    def is_alive(self, k, now):
        """Return True if the copy occupies memory when step k starts at time `now`."""
        return self.born <= k and any(j >= k or end > now for j, end in self.uses)


class Replay:
    """The state of a replayed schedule: copies in memory, operations done, and when processor and link are free."""

    def __init__(self, graph, link):
        """Start with the copies of the tensors that exist before the schedule; `link` is bytes per unit of time."""
        self.graph, self.link = graph, link
        self.changed = {t for v, op in enumerate(graph.ops) for t in op.get("out") or () if graph.maker[t] != v}
        self.copies, self.ran, self.apart, self.busy = {}, set(), {}, dict.fromkeys(KINDS, 0)
        for t, maker in enumerate(graph.maker):
            if maker is None and (graph.users[t] or t in graph.lasting):
                self.copies[t] = [Copy(t, -1, 0)]

    def latest_copy(self, t, now):
        """Return the latest copy of tensor t that is complete at time `now`. Raises Refused if there is none."""
        ready = [copy for copy in self.copies.get(t, ()) if copy.ready <= now]
        if not ready:
            raise Refused(f"tensor {t} must be in memory at time {now}")
        return max(ready, key=lambda copy: (copy.ready, copy.born))

    def run(self, k, v, now):
        """Run operation v as step k at time `now`, and return its end time."""
        op, end = self.graph.ops[v], now + self.graph.ops[v]["cost"]
        made = [t for t in op.get("out") or () if self.graph.maker[t] == v]
        if missing := self.graph.before[v] - self.ran:
            raise Refused(f"operation {v} must run after operation {min(missing)}")
        if v in self.ran:
            behind = {w for w in self.ran if v in (self.graph.ops[w].get("after") or ())}
            # A repeated run must give the same result, so refuse it if a tensor of the operation is changed in place.
            inputs = set(op.get("in") or ())
            if op.get("once") or behind or self.changed & (inputs | set(op.get("out") or ())):
                raise Refused(f"operation {v} must not run again")
        self.ran.add(v)
        for t in {*(op.get("in") or ()), *(op.get("out") or ())} - set(made):
            self.latest_copy(t, now).uses.append((k, end))
        for t in made:
            self.copies.setdefault(t, []).append(Copy(t, k, end))
        return end

    def move(self, kind, k, t, now):
        """Send tensor t over the link (`kind` "send") or fetch it back as step k at time `now`; return the end time."""
        if not self.link or not self.graph.size[t] or t in self.changed:
            raise Refused(f"tensor {t} must have bytes and never change in place, to be moved over a link")
        end = now - (-self.graph.size[t] // self.link)
        if kind == "send":
            self.latest_copy(t, now).uses.append((k, end))
            self.apart[t] = min(end, self.apart.get(t, end))
        elif self.apart.get(t, end) > now:
            raise Refused(f"tensor {t} must be sent before it is fetched at {now}")
        else:
            self.copies.setdefault(t, []).append(Copy(t, k, end))
        return end


def check(text, steps, link):
    """Return (peak of live bytes, end time of the last step). Raises Refused for an invalid schedule."""
    graph, rows = orders.Graph(text), json.loads(steps)
    rows = rows["steps"] if isinstance(rows, dict) else rows
    rows = [(row["kind"], row["what"], row["start"]) for row in rows]
    if any(op.get("regions") or op.get("alternatives") for op in graph.ops):
        raise ValueError("ops: must not have regions or alternatives")
    if any(type(op.get("cost")) is not int or op["cost"] < 0 for op in graph.ops):
        raise ValueError("ops: each must have a cost of at least 0")
    replay, ends, before = Replay(graph, Fraction(link)), [], 0
    for k, (kind, what, now) in enumerate(rows):
        count = len(graph.ops if kind == "run" else graph.size)
        if kind not in KINDS or type(what) is not int or type(now) is not int or not 0 <= what < count:
            raise ValueError(f"step {k} must have a kind, the position of an operation or tensor, and a start")
        if now < max(before, replay.busy[kind]):
            raise Refused(f"step {k} must start at {max(before, replay.busy[kind])} or later, got {now}")
        end = replay.run(k, what, now) if kind == "run" else replay.move(kind, k, what, now)
        replay.busy[kind], before = end, now
        ends.append(end)
    if missing := {*range(len(graph.ops))} - replay.ran:
        raise Refused(f"operation {min(missing)} must run")
    time = max(ends, default=0)
    for t in graph.lasting:
        if graph.size[t]:
            replay.latest_copy(t, time).uses.append((len(rows), time))
    return max(live_bytes(graph, rows, ends, replay)), time


def live_bytes(graph, rows, ends, replay):
    """Yield the live bytes before the first step, at the start of each step, and after the last step."""
    copies = [copy for some in replay.copies.values() for copy in some if graph.size[copy.tensor]]
    yield sum(graph.size[copy.tensor] for copy in copies if copy.born < 0)
    for k, (_, _, now) in enumerate(rows):
        work = sum(
            graph.work[v] for j, (kind, v, _) in enumerate(rows[: k + 1]) if kind == "run" and (j == k or ends[j] > now)
        )
        yield work + sum(graph.size[copy.tensor] for copy in copies if copy.is_alive(k, now))
    yield sum(graph.size[t] for t in graph.lasting)


if __name__ == "__main__":
    try:
        with open(sys.argv[1], encoding="utf-8") as graph, open(sys.argv[2], encoding="utf-8") as steps:
            most, time = check(graph.read(), steps.read(), sys.argv[3])
        print(f"valid: {most} bytes alive at once, {time} units of time")
    except Refused as why:
        sys.exit(print(f"refused: {why}") or 3)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        sys.exit(print(f"wrong input: {error!r}") or 2)
