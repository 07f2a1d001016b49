"""The replay of a program with a link: it checks the steps, and measures the program's time and bytes.

It shares no code with the search for such programs. A copy of a tensor begins to exist when the run that writes it, or
its fetch, starts. It exists until the last run that reads it, and its send, have ended. A run reads the copy that was
ready last. Bytes are counted only when steps start, because they never rise in between.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from memplan.extensions.recompute.offload.steps import LinkedGraph, Step
from memplan.planner.errors import OperationsError


@dataclass
class Copy:
    """A copy of a tensor: the step `first` that creates it (-1 for inputs), and the time at which it is `ready`.

    `last` is the last step that uses the copy, and `end` is the time after which no step uses it.
    """

    tensor: int
    first: int
    ready: int
    last: int
    end: int


@dataclass(frozen=True)
class ReplayResult:
    """The time, the peak in bytes, and the tensor copies of a program.

    `alive[k]` has the first and the last step during which copy k exists. `runs_until[k]` is the last step that starts
    before step k ends.
    """

    time: int
    peak: int
    copies: tuple[Copy, ...]
    alive: tuple[tuple[int, int], ...]
    runs_until: tuple[int, ...]


def replay_steps(program: LinkedGraph, steps: Sequence[Step]) -> ReplayResult:
    """Replay the steps in order; raises OperationsError at the first impossible step."""
    replay = _Replay(program, steps)
    for k, step in enumerate(steps):
        replay.take(k, step)
    return replay.end()


class _Replay:
    """A replay of steps in order: it holds the existing copies of tensors, and the times at which steps end."""

    def __init__(self, program: LinkedGraph, steps: Sequence[Step]) -> None:
        """Start before the first step, when only inputs have copies."""
        self.program, self.graph, self.steps = program, program.graph, steps
        self.copies = [
            Copy(t, -1, 0, -1, 0)
            for t, maker in enumerate(self.graph.maker)
            if maker is None and (self.graph.readers[t] or t in self.graph.kept)
        ]
        self.of_tensor: dict[int, list[Copy]] = {copy.tensor: [copy] for copy in self.copies}
        self.apart: dict[int, int] = {}  # Map each sent tensor to the time at which it arrives.
        self.free = {"run": 0, "send": 0, "fetch": 0}
        self.ends: list[int] = []
        self.ran: set[int] = set()
        # `changed` maps tensors to the operations that change them in place, and `waiting` operations to later ones.
        self.changed: dict[int, set[int]] = {}
        self.waiting: dict[int, set[int]] = {}
        for v, row in enumerate(self.graph.ops):
            for t in set(row.outputs).difference(self.graph.new_tensors[v]):
                self.changed.setdefault(t, set()).add(v)
            for u in row.after:
                self.waiting.setdefault(u, set()).add(v)

    def take(self, k: int, step: Step) -> None:
        """Replay step k, and record the time at which it ends; raises OperationsError if the step is impossible."""
        where, before = f"steps[{k}]", self.steps[k - 1].start if k else 0
        if step.start < max(before, self.free[step.kind]):
            raise OperationsError(
                f"{where}: must start at {max(before, self.free[step.kind])} or later, got {step.start}"
            )
        end = step.start + (
            self._run_operation(where, k, step) if step.kind == "run" else self._transfer_tensor(where, k, step)
        )
        self.free[step.kind] = end
        self.ends.append(end)

    def _run_operation(self, where: str, k: int, step: Step) -> int:
        """Run an operation as step k, and return its duration; raises OperationsError if the run is impossible."""
        row, cost, v = self.graph.ops[step.what], self.program.costs[step.what], step.what
        if lacking := set(self.graph.predecessors[v]) - self.ran:
            raise OperationsError(f"{where}: must run after operation {min(lacking)}")
        if v in self.ran:
            self._require_rerun_allowed(where, v)
        self.ran.add(v)
        for t in {*row.inputs, *row.outputs}.difference(self.graph.new_tensors[v]):
            self._extend_use(self._newest_copy(where, t, step.start), k, step.start + cost)
        for t in self.graph.new_tensors[v]:
            self._add_copy(Copy(t, k, step.start + cost, k, step.start + cost))
        return cost

    def _require_rerun_allowed(self, where: str, v: int) -> None:
        """Raise OperationsError if operation v must not run again, at all or after an operation that has run."""
        row = self.graph.ops[v]
        if row.once or row.regions or not row.outputs or any(t in self.changed for t in row.outputs):
            raise OperationsError(f"{where}: operation {v} must not run again")
        for others in (self.waiting.get(v, set()), *(self.changed.get(t, set()) for t in row.inputs)):
            if behind := self.ran & others:
                raise OperationsError(f"{where}: operation {v} must not run again after operation {min(behind)}")

    def _transfer_tensor(self, where: str, k: int, step: Step) -> int:
        """Send or fetch a tensor as step k, and return the duration; raises OperationsError if this is impossible."""
        duration, t = self.program.transfer[step.what], step.what
        if duration is None:
            raise OperationsError(f"{where}: tensor {t} must be movable over the link, but is not")
        end = step.start + duration
        if step.kind == "send":
            self._extend_use(self._newest_copy(where, t, step.start), k, end)
            self.apart[t] = min(end, self.apart.get(t, end))
        elif self.apart.get(t, end) > step.start:
            raise OperationsError(f"{where}: tensor {t} must have been sent before it is fetched")
        else:
            self._add_copy(Copy(t, k, end, k, end))
        return duration

    def _add_copy(self, copy: Copy) -> None:
        self.copies.append(copy)
        self.of_tensor.setdefault(copy.tensor, []).append(copy)

    def _newest_copy(self, where: str, t: int, start: int) -> Copy:
        """Return the copy of tensor t that was ready last by time `start`; raises OperationsError if there is none."""
        ready = [copy for copy in self.of_tensor.get(t, ()) if copy.ready <= start]
        if not ready:
            raise OperationsError(f"{where}: tensor {t} must be in memory at time {start}")
        return max(ready, key=lambda copy: (copy.ready, copy.first))

    @staticmethod
    def _extend_use(copy: Copy, k: int, end: int) -> None:
        copy.last, copy.end = max(copy.last, k), max(copy.end, end)

    def end(self) -> ReplayResult:
        """Return the time, peak and copies of the program; raises OperationsError if an operation has not run."""
        if lacking := {*range(len(self.graph.ops))} - self.ran:
            raise OperationsError(f"steps: must run operation {min(lacking)}")
        time, n, size = max(self.ends, default=0), len(self.steps), self.graph.working_bytes
        for t in self.graph.kept:
            copy = self._newest_copy("the end", t, time)
            copy.last, copy.end = n - 1, time
        starts = [step.start for step in self.steps]
        alive = [(max(copy.first, 0), max(copy.last, bisect_left(starts, copy.end) - 1)) for copy in self.copies]
        until = tuple(max(k, bisect_left(starts, end) - 1) for k, end in enumerate(self.ends))
        # No step runs at the start or the end of a program, so count the bytes at these times separately.
        given = sum(size[copy.tensor] for copy in self.copies if copy.first < 0)
        peak = max(given, sum(size[t] for t in set(self.graph.kept)))
        change = [0] * (n + 1)
        for copy, (first, last) in zip(self.copies, alive, strict=True):
            change[first] += size[copy.tensor]
            change[max(last, first) + 1 if n else 0] -= size[copy.tensor]
        for k, step in enumerate(self.steps):
            if step.kind == "run":
                change[k] += self.graph.ops[step.what].work
                change[until[k] + 1] -= self.graph.ops[step.what].work
        for k in range(n):
            change[k] += change[k - 1] if k else 0
            peak = max(peak, change[k])
        return ReplayResult(time, peak, tuple(self.copies), tuple(alive), until)


def check_on_addresses(
    program: LinkedGraph,
    steps: Sequence[Step],
    copies: Sequence[Copy],
    offsets: Sequence[int],
    works: Mapping[int, int],
) -> None:
    """Execute the steps of a program on the planned addresses of its tensor copies and workspaces.

    Raises OperationsError for the first step whose bytes have been overwritten.
    """
    graph, memory, there = program.graph, _Addresses(), dict[int, int]()
    for c, copy in enumerate(copies):
        memory.ranges[c] = (offsets[c], offsets[c] + graph.working_bytes[copy.tensor])
    begun: dict[int, list[int]] = {}
    for c, copy in enumerate(copies):
        begun.setdefault(copy.first, []).append(c)
    for c in begun.get(-1, ()):
        memory.write(c)
        there[copies[c].tensor] = c
    waiting: list[tuple[int, int, list[int], list[int]]] = []

    def finish(until: float) -> None:
        for row in sorted(row for row in waiting if row[0] <= until):
            waiting.remove(row)
            _, k, needs, makes = row
            for c in (*needs, *makes):
                memory.read(f"steps[{k}]", c)
            there.update({copies[c].tensor: c for c in makes if c >= 0})

    for k, step in enumerate(steps):
        finish(step.start)
        makes, needs = list(begun.get(k, ())), list[int]()
        if step.kind == "run":
            row, end = graph.ops[step.what], step.start + program.costs[step.what]
            needs = [there[t] for t in sorted({*row.inputs, *row.outputs}.difference(graph.new_tensors[step.what]))]
        else:
            end = step.start + (program.transfer[step.what] or 0)
            needs = [there[step.what]] if step.kind == "send" else []
        for c in needs:
            memory.read(f"steps[{k}]", c)
        if k in works:
            # Keys of copies are 0 or more, so the workspace of step k gets the key -1 - k.
            memory.ranges[-1 - k] = (works[k], works[k] + graph.ops[step.what].work)
            makes.append(-1 - k)
        for c in makes:
            memory.write(c)
        waiting.append((end, k, needs, makes))
    finish(inf)
    for t in graph.kept:
        memory.read("the end", there[t])


class _Addresses:
    """The values in memory by byte range. A value is lost once another value overwrites one of its bytes."""

    def __init__(self) -> None:
        """Start without any value in memory."""
        self.ranges: dict[int, tuple[int, int]] = {}
        self.whole: set[int] = set()
        self.begins: list[int] = []
        self.copies: list[int] = []  # Intact values are disjoint, so bisection in `begins` finds overlaps.

    def write(self, one: int) -> None:
        """Store value `one` at its address; other values that share bytes with it are lost."""
        begin, end = self.ranges[one]
        if begin == end:
            self.whole.add(one)
            return
        first, last = bisect_left(self.begins, begin), bisect_left(self.begins, end)
        if first and self.ranges[self.copies[first - 1]][1] > begin:
            first -= 1
        self.whole.difference_update(self.copies[first:last])
        self.whole.add(one)
        self.begins[first:last], self.copies[first:last] = [begin], [one]

    def read(self, where: str, one: int) -> None:
        """Raise OperationsError if any byte of value `one` has been overwritten."""
        if one not in self.whole:
            raise OperationsError(
                f"{where}: must have intact copies of the values that it needs, got overwritten bytes"
            )
