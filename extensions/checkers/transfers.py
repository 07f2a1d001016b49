"""Check a schedule of steps over a link without memplan: transfers.py GRAPH STEPS LINK; exit 0, 3 refused, 2 wrong.

GRAPH is operations-by-bytes/1 in JSON, whose operations have costs. STEPS is a list of `{"kind", "what", "start"}` in
JSON, or an object whose `steps` is one. LINK is the bytes moved per unit of cost. Printed are the most bytes alive at
once, and the time.
"""
# docs/order.md has the rules. Each step is checked against earlier steps; then bytes are counted at each start.

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
    """A copy of a tensor in memory, made by step `born` and complete at `ready`; `uses` are (step, end of its use)."""

    def __init__(self, tensor, born, ready):
        self.tensor, self.born, self.ready, self.uses = tensor, born, ready, [(born, ready)]

    def is_alive(self, k, now):
        """Return True if the copy is in memory when step k starts at time `now`."""
        return self.born <= k and any(j >= k or end > now for j, end in self.uses)


class Replay:
    """The state of a replay: existing copies, operations that ran, and the time until which each unit is busy."""

    def __init__(self, graph, link):
        self.graph, self.link = graph, link
        self.changed = {t for v, op in enumerate(graph.ops) for t in op.get("out") or () if graph.maker[t] != v}
        self.copies, self.ran, self.apart, self.busy = {}, set(), {}, dict.fromkeys(KINDS, 0)
        for t, maker in enumerate(graph.maker):
            if maker is None and (graph.users[t] or t in graph.lasting):
                self.copies[t] = [Copy(t, -1, 0)]

    def latest_copy(self, t, now):
        """Return the newest complete copy of tensor t at time `now`; raises Refused if there is none."""
        ready = [copy for copy in self.copies.get(t, ()) if copy.ready <= now]
        if not ready:
            raise Refused(f"tensor {t} is not in memory at {now}")
        return max(ready, key=lambda copy: (copy.ready, copy.born))

    def run(self, k, v, now):
        """Run operation v as step k; return its end time."""
        op, end = self.graph.ops[v], now + self.graph.ops[v]["cost"]
        made = [t for t in op.get("out") or () if self.graph.maker[t] == v]
        if missing := self.graph.before[v] - self.ran:
            raise Refused(f"operation {v} runs before operation {min(missing)}")
        if v in self.ran:
            behind = {w for w in self.ran if v in (self.graph.ops[w].get("after") or ())}
            # An operation may only run again if its inputs are unchanged, and if it changes no tensor in place.
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
        """Send or fetch tensor t as step k; return its end time."""
        if not self.link or not self.graph.size[t] or t in self.changed:
            raise Refused(f"tensor {t} cannot be sent")
        end = now - (-self.graph.size[t] // self.link)
        if kind == "send":
            self.latest_copy(t, now).uses.append((k, end))
            self.apart[t] = min(end, self.apart.get(t, end))
        elif self.apart.get(t, end) > now:
            raise Refused(f"tensor {t} is fetched at {now}, and has not been sent before")
        else:
            self.copies.setdefault(t, []).append(Copy(t, k, end))
        return end


def check(text, steps, link):
    """Return the most bytes alive at once, and the time of the last end; raises Refused."""
    graph, rows = orders.Graph(text), json.loads(steps)
    rows = rows["steps"] if isinstance(rows, dict) else rows
    rows = [(row["kind"], row["what"], row["start"]) for row in rows]
    if any(op.get("regions") or op.get("alternatives") for op in graph.ops):
        raise ValueError("regions and alternatives are not read")
    if any(type(op.get("cost")) is not int or op["cost"] < 0 for op in graph.ops):
        raise ValueError("an operation without a cost")
    replay, ends, before = Replay(graph, Fraction(link)), [], 0
    for k, (kind, what, now) in enumerate(rows):
        count = len(graph.ops if kind == "run" else graph.size)
        if kind not in KINDS or type(what) is not int or type(now) is not int or not 0 <= what < count:
            raise ValueError(f"step {k} is none")
        if now < max(before, replay.busy[kind]):
            raise Refused(f"step {k} starts at {now}, before {max(before, replay.busy[kind])}")
        end = replay.run(k, what, now) if kind == "run" else replay.move(kind, k, what, now)
        replay.busy[kind], before = end, now
        ends.append(end)
    if missing := {*range(len(graph.ops))} - replay.ran:
        raise Refused(f"operation {min(missing)} does not run")
    time = max(ends, default=0)
    for t in graph.lasting:
        if graph.size[t]:
            replay.latest_copy(t, time).uses.append((len(rows), time))
    return max(live_bytes(graph, rows, ends, replay)), time


def live_bytes(graph, rows, ends, replay):
    """Yield the bytes alive at the beginning, at the start of each step, and at the end."""
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
