"""Fingerprints of problems, which do not depend on names or on the order of rows, and features for choosing problems.

The fingerprint of a problem of buffers is the hash of its canonical content. Any other problem becomes a graph of
coloured nodes. Each colour is refined by the neighbours' colours until the number of colours stops growing, and the
sorted colours are hashed. Equal problems have equal fingerprints. In rare cases, different problems do so too.
"""

import json
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np

from memplan.planner.bounds.lower_bound import lower_bound
from memplan.planner.formats import read_problem
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.problem import Problem

_OF_BUFFERS = ("peak", "fit", "pools", "rules", "reuse", "heaps")
"""The kinds of problems in memplan's own format, with buffers and pools."""
_LIMITS = {"fit": "size", "heaps": "heaps", "recompute": "extra cost"}
"""The meaning of an entry's limit, by kind of problem, for each kind that has a limit."""


@dataclass
class _Graph:
    """A graph of labelled nodes and labelled edges (from, to, label)."""

    nodes: list[Any] = field(default_factory=list)
    edges: list[tuple[int, int, str]] = field(default_factory=list)

    def digest(self, head: Any) -> str:
        """Return a hash of the graph that is independent of the order of its nodes."""
        colours = [_hash(node) for node in self.nodes]
        count = 0
        while len(set(colours)) > count:
            count = len(set(colours))
            around: list[list[str]] = [[] for _ in colours]
            for i, j, label in self.edges:
                around[i].append(f">{label}{colours[j]}")
                around[j].append(f"<{label}{colours[i]}")
            colours = [_hash([mine, sorted(near)]) for mine, near in zip(colours, around, strict=True)]
        return _hash([head, sorted(colours)])


def _hash(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def fingerprint(kind: str, data: bytes, name: str, limit: int | None) -> str:
    """Return the fingerprint of a problem, given the content and name of its file and its limit."""
    parts = [_LIMITS.get(kind, ""), limit]
    if kind in _OF_BUFFERS:
        content = problem_hash(read_problem(data, name))
        return _hash([*parts, content]) if limit else content[7:]
    problem = json.loads(data)
    graph = _Graph()
    if kind in ("symbols", "objects"):
        return _lifetime_fingerprint(problem, graph)
    return _graph_fingerprint(problem, graph, parts)


def _graph_fingerprint(problem: dict[str, Any], graph: _Graph, given: Any) -> str:
    """Return the fingerprint of a graph of operations, computed from its tensors, operations, reads and writes."""
    flags = [set(problem.get(name) or ()) for name in ("kept", "given", "resident")]
    facts = problem.get("tensors") or [{} for _ in problem["size"]]
    for t, size in enumerate(problem["size"]):
        graph.nodes.append(["t", size, [t in some for some in flags], facts[t].get("shape"), facts[t].get("dtype")])
    first = len(graph.nodes)
    for v, op in enumerate(problem["ops"]):
        graph.nodes.append(["o", *(op.get(key) for key in ("work", "cost", "once", "kind", "attributes"))])
        for label in ("in", "out"):
            graph.edges += ((first + v, t, f"{label}{k}") for k, t in enumerate(op.get(label) or ()))
        graph.edges += ((first + v, first + u, "after") for u in op.get("after") or ())
    return graph.digest(given)


def _lifetime_fingerprint(problem: dict[str, Any], graph: _Graph) -> str:
    rows = problem["buffers"]
    rank = {time: k for k, time in enumerate(sorted({row[key] for row in rows for key in ("start", "end")}))}
    for row in rows:
        graph.nodes.append({**row, "id": None, "start": rank[row["start"]], "end": rank[row["end"]]})
    return graph.digest({key: value for key, value in problem.items() if key not in ("name", "buffers")})


def features(kind: str, data: bytes, name: str) -> dict[str, float]:
    """Return the features of a problem by name: counts such as `buffers` or `operations`, and statistics of sizes."""
    if kind in _OF_BUFFERS:
        return _buffer_figures(read_problem(data, name))
    problem = json.loads(data)
    if kind in ("symbols", "objects"):
        return {"buffers": len(problem["buffers"]), "symbols": len(problem.get("symbols") or ())}
    ops = problem["ops"]
    reads = sum(len(op.get("in") or ()) for op in ops)
    return {"operations": len(ops), "tensors": len(problem["size"]), "reads": reads}


def _buffer_figures(problem: Problem) -> dict[str, float]:
    """Return the features of a problem of buffers by name, such as `most_alive` (the most buffers alive at once)."""
    table = problem.buffers
    n, start, end = len(table), np.sort(table.start), np.sort(table.end)
    times = np.unique(start)
    alive = np.searchsorted(start, times, side="right") - np.searchsorted(end, times, side="right")
    starts, ends = np.searchsorted(end, table.start, side="right"), np.searchsorted(start, table.end, side="left")
    pairs = int((ends - starts).sum() - n) // 2 + len(problem.conflicts)
    instance = compile_problem(problem)
    return {
        "buffers": n,
        "most_alive": int(alive.max(initial=0)),
        "density": round(2 * pairs / max(1, n * (n - 1)), 4),
        "sizes": len(np.unique(table.size)),
        "bytes": int(table.size.sum()),
        "live_bytes": lower_bound(instance).total * instance.unit,
        "pools": len(problem.pools),
    }
