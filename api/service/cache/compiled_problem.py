"""Problems together with their instances, hashes and canonical orders, made once; also where they come again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

from memplan.api.options import Options
from memplan.planner.instance.canonical import canonical_order, problem_hash
from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.lint.problems import lint
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.finding import Finding
from memplan.planner.model.problem import Problem

_SMALL_BUFFERS = 500
_FEW_CELLS, _FEW_ASKED = 64, 1_000
_BYTES_A_BYTE = 6
"""The bytes of memory that a parsed problem takes for each byte of its JSON."""
_LARGEST_PART = 8
"""No problem takes more than this part of the memory."""


@dataclass(frozen=True, eq=False)
class CompiledProblem:
    """A problem as a caller wrote it, its canonical form, and what lint finds.

    `order` lists its instance's buffers, (n,). Work on one that `is_small`, and is no search, takes less time than
    handing it to a thread under load.
    """

    problem: Problem
    instance: Instance
    hash: str
    order: I64
    is_small: bool
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, problem: Problem) -> CompiledProblem:
        """Compile, hash and lint a problem. O(m log m)."""
        instance = compile_problem(problem)
        order = canonical_order(instance)
        return cls(problem, instance, problem_hash(problem, instance, order), order, _is_small(instance), lint(problem))


def _is_small(instance: Instance) -> bool:
    """Return True if work on an instance that is no search is short: few buffers, and fewer where they ask for much."""
    if len(instance) <= _SMALL_BUFFERS and instance.is_plain:
        return True
    asked = sum(len(values) for values in (instance.start, instance.conflict, instance.share, instance.bank_with))
    asked += sum(len(pool.reserved) for pool in instance.pools) + len(instance.soft_pairs)
    return len(instance) * len(instance.pools) <= _FEW_CELLS and asked <= _FEW_ASKED


Reading = tuple[CompiledProblem, Options]
"""The content of a body: builds send the same bytes again, which are then read, checked and compiled once."""


class Readings:
    """The latest bodies that were read, up to so many bytes of memory. For one event loop."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes // _BYTES_A_BYTE
        self._held = 0
        self._kept: OrderedDict[Hashable, tuple[Reading, int]] = OrderedDict()

    def find(self, name: Hashable) -> Reading | None:
        """Return what was read of a body; the name is all that the reading depends on."""
        if name not in self._kept:
            return None
        self._kept.move_to_end(name)
        return self._kept[name][0]

    def keep(self, name: Hashable, reading: Reading, size: int) -> None:
        """Keep what was read of a body of `size` bytes, if that is not too large; the oldest are dropped."""
        if size > self._most // _LARGEST_PART or name in self._kept:
            return
        self._kept[name] = reading, size
        self._held += size
        while self._held > self._most:
            _, (_, gone) = self._kept.popitem(last=False)
            self._held -= gone
