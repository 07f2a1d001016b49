"""Snapshots of a program: a small integer program that bounds the cost of all programs within a budget.

A *snapshot* is the content of memory when an operation first runs. Snapshots are taken at a few operations that must
run one after another. A tensor that is written before a snapshot and needed after it is in memory then, or recomputed
later. The constraints state only such facts, which hold for every order and any number of runs.
"""

from collections.abc import Iterator

import numpy as np

from memplan.extensions.recompute.stages import Stages
from memplan.solvers.mip.draft import ONE, Draft, Term

_MOST = 10
"""The maximum number of snapshots of a program."""
_APART = 30
"""The minimum distance between two snapshots is the number of operations divided by this number."""
LARGEST = 3000
"""The maximum number of operations of a graph whose precedence matrix is computed."""


class Snapshots:
    """The snapshots of a graph's programs: the memory contents at the operations that exceed the budget most."""

    def __init__(self, stages: Stages) -> None:
        """Choose the operations at which snapshots are taken; `stages` has the graph and the budget."""
        self.stages, self.cost_unit = stages, stages.cost_unit
        self.chain = self._crowded_chain()

    def _crowded_chain(self) -> list[int]:
        """Return the operations that exceed the budget most, as a chain.

        Every program runs a chain in the same order. The operations' numbers differ by at least n // _APART.
        """
        excess = self.stages.away.excess(self.stages.limit)
        chain, earlier = list[int](), self.stages.earlier
        apart = max(1, self.stages.n // _APART)
        for v in sorted((v for v, above in enumerate(excess) if above > 0), key=lambda v: (-excess[v], v)):
            is_in_row = all(earlier[v, u] or earlier[u, v] for u in chain)
            if is_in_row and all(abs(u - v) >= apart for u in chain):
                chain.append(v)
            if len(chain) == _MOST:
                break
        return sorted(chain)

    @property
    def max_cost(self) -> int:
        """The highest cost of a solution, in units of `cost_unit`: everything runs again after each snapshot."""
        return sum(self.stages.cost[v] for v, k in self.repetitions())

    def draft(self, at_least: int, at_most: int) -> Draft:
        """Return the integer program; its objective, a cost in `cost_unit`, lies from `at_least` to `at_most`."""
        return _Writer(self, at_least, at_most).draft

    def repetitions(self) -> Iterator[tuple[int, int]]:
        """Yield (operation, snapshot) if the operation always runs before the snapshot and may run again after it."""
        for k, at in enumerate(self.chain):
            for v, behind in enumerate(self.stages.behind):
                if behind is not None and self.has_run(v, at) and not any(self.has_run(w, at) for w in behind):
                    yield v, k

    def has_run(self, v: int, at: int) -> bool:
        """Return True if operation `v` must run before operation `at`, or is the same operation as `at`."""
        return v == at or bool(self.stages.earlier[at, v])


class _Writer:
    """The writer of the integer program of snapshots; `here[t, k]` is 1 if tensor t is in snapshot k."""

    def __init__(self, snapshots: Snapshots, at_least: int, at_most: int) -> None:
        """Write all columns and constraints; the extra cost is from `at_least` to `at_most` units."""
        self.snapshots, self.stages, self.draft = snapshots, snapshots.stages, Draft()
        self.chain = snapshots.chain
        self.draft.objective = self.draft.column(("extra cost",), at_least, at_most, is_whole=True)
        cost = self.stages.cost
        self.again = {
            (v, k): Term(self.draft.column(("again", v, k), 0, 1, is_whole=True))
            for v, k in snapshots.repetitions()
            if cost[v] <= at_most
        }
        runs = [(term, cost[v]) for (v, _), term in self.again.items()]
        self.draft.row_of(("cost",), [(Term(0), -1), *runs], at_most=0)
        self.here: dict[tuple[int, int], Term] = {}
        for k, at in enumerate(self.chain):
            self._add_snapshot(k, at)
        for k in range(len(self.chain)):
            self._add_needed_rows(k)

    def _exists_at(self, t: int, k: int) -> bool:
        maker = self.stages.graph.maker[t]
        return t in self.stages.given if maker is None else self.snapshots.has_run(maker, self.chain[k])

    def _recomputing_terms(self, t: int, k: int) -> list[tuple[Term, int]]:
        maker = self.stages.graph.maker[t]
        return [] if maker is None or (maker, k) not in self.again else [(self.again[maker, k], 1)]

    def _add_snapshot(self, k: int, at: int) -> None:
        """Add constraints for snapshot k, at operation `at`: its tensors fit, and were kept or recomputed if older."""
        stages, draft = self.stages, self.draft
        held = []
        for t, size in enumerate(stages.size):
            if t in stages.own[at]:
                self.here[t, k] = ONE
            elif self._exists_at(t, k):
                self.here[t, k] = Term(draft.column(("here", t, k), 0, 1, is_whole=True))
            else:
                continue
            if size:
                held.append((self.here[t, k], size))
            if k and self._exists_at(t, k - 1):
                before = [(self.here[t, k - 1], 1), *self._recomputing_terms(t, k - 1)]
                row = [(self.here[t, k], 1), *((term, -1) for term, _ in before)]
                draft.row_of(("stays", t, k), row, at_most=0)
        draft.row_of(("memory", k), held, at_most=stages.budget - stages.work[at])

    def _add_needed_rows(self, k: int) -> None:
        """Add constraints: tensors that are read after snapshot `k` are in the snapshot or are recomputed."""
        stages, snapshots = self.stages, self.snapshots
        is_last = k == len(self.chain) - 1
        later = np.flatnonzero(stages.earlier[:, self.chain[k]]).tolist()
        for w in later:
            follows = [j for j in range(k, len(self.chain)) if not snapshots.has_run(w, self.chain[j])]
            if not is_last and stages.earlier[w, self.chain[k + 1]]:
                # The next snapshot in the chain implies this constraint, so omit the constraint here.
                continue
            for t in sorted(stages.own[w].difference(stages.graph.new_tensors[w])):
                if self._exists_at(t, k):
                    makes = [term for j in follows for term in self._recomputing_terms(t, j)]
                    self.draft.row_of(("needed", w, t, k), [(self.here[t, k], 1), *makes], at_least=1)
        for (v, j), again in self.again.items():
            for t in sorted(stages.own[v].difference(stages.graph.new_tensors[v])) if j == k else ():
                makes = [(self.here[t, k], -1), *((term, -1) for term, _ in self._recomputing_terms(t, k))]
                self.draft.row_of(("input", v, t, k), [(again, 1), *makes], at_most=0)
        for t in stages.graph.kept if is_last else ():
            if self._exists_at(t, k):
                self.draft.row_of(("kept", t), [(self.here[t, k], 1), *self._recomputing_terms(t, k)], at_least=1)
