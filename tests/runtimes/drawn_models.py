"""Small random models, and the live peak of each; `drawn_files` writes them as files.

The live peak is computed here only from the steps, by the documented rules of the readers. A view shares its source's
bytes, unless both belong to the caller. Inputs are alive before the first step, and results after the last one. A
choice between branches first reads its condition, and each branch writes the result.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod

Shape = tuple[int, int]
CHOICE, VIEW, OVER = "choice", "view", "over"


@dataclass(frozen=True)
class Step:
    """An operation on numbered tensors. A choice also has `branches`, which are the steps of each branch."""

    kind: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...] = ()
    branches: "tuple[tuple[Step, ...], ...]" = ()


@dataclass(frozen=True)
class DrawnModel:
    """A program: its steps, its tensors' shapes, and which tensors are inputs, constants, results or conditions."""

    shapes: tuple[Shape, ...]
    given: tuple[int, ...]
    constants: tuple[int, ...]
    results: tuple[int, ...]
    steps: tuple[Step, ...]
    conditions: tuple[int, ...] = ()


@dataclass(frozen=True)
class Format:
    """A format: its file suffix, its writer, its kinds of operations, and the properties of its tensors.

    An element has `item` bytes, a condition one byte; sizes are rounded up to multiples of `alignment`. With
    `copies_callers`, results that are views of an input are copies. With `keeps_unread`, unread tensors are results.
    With `reads_shapes`, an operation that needs only a shape reads the tensor; otherwise, shapes are known in advance.
    """

    suffix: str
    write: Callable[[DrawnModel], bytes]
    kinds: str
    item: int = 4
    alignment: int = 64
    copies_callers: bool = True
    keeps_unread: bool = False
    reads_shapes: bool = False


def draw(seed: int, how: Format) -> DrawnModel:
    rng = random.Random(seed)
    draft = _Draft(rng, how)
    for _ in range(rng.randint(1, 3)):
        draft.given.append(draft.tensor((rng.choice((2, 3, 4)), rng.choice((8, 16, 32)))))
    kinds = how.kinds.split()
    for _ in range(rng.randint(2, 10)):
        draft.step(rng.choice(kinds))
    return draft.model()


def live_peak(model: DrawnModel, how: Format) -> int:
    """Return the peak of live bytes of a model, which is the maximum over all combinations of branches."""
    home, copies = homes(model, how)
    choices = [step for step in model.steps if step.kind == CHOICE]
    ways = (dict(zip(map(id, choices), way, strict=True)) for way in product((0, 1), repeat=len(choices)))
    return max(_peak_of_branches(model, how, home, copies, way) for way in ways)


def homes(model: DrawnModel, how: Format) -> tuple[dict[int, int], set[int]]:
    """Return a map from each tensor to the tensor whose bytes it uses, and the set of views that are copies."""
    home = {t: t for t in range(len(model.shapes))}
    is_callers = {t: t in model.given or t in model.results for t in home}
    copies: set[int] = set()
    for step in model.steps:
        for branch in step.branches:
            home[branch[-1].outputs[0]] = step.outputs[0]
        if step.kind not in (VIEW, OVER):
            continue
        source, result = home[step.inputs[0]], step.outputs[0]
        if step.kind == VIEW and how.copies_callers and is_callers[source] and is_callers[result]:
            copies.add(result)
            continue
        home[result] = source
        is_callers[source] |= is_callers[result]
    return home, copies


def _peak_of_branches(
    model: DrawnModel, how: Format, home: Mapping[int, int], copies: set[int], way: Mapping[int, int]
) -> int:
    rows: list[tuple[list[int], list[int], int]] = []  # (tensors read, tensors written, scratch bytes) of each kernel
    for step in model.steps:
        if step.kind == CHOICE:
            inner = [row for branch in step.branches for row in branch]
            made = {t for row in inner for t in row.outputs}
            rows.append(([*step.inputs, *(t for row in inner for t in row.inputs if t not in made)], [], 0))
            rows += [([*row.inputs], [*row.outputs], 0) for row in step.branches[way[id(step)]]]
        elif (how.reads_shapes or step.kind != "shape") and (step.kind != VIEW or step.outputs[0] in copies):
            rows.append(([*step.inputs], [*step.outputs], _scratch_bytes(model, how, step)))
    size = [bytes_of(model, how, t) for t in range(len(model.shapes))]
    first, last = dict.fromkeys((home[t] for t in model.given), -1), dict.fromkeys((home[t] for t in model.given), -1)
    for k, (reads, writes, _) in enumerate(rows):
        for t in (*reads, *writes):
            first.setdefault(home[t], k)
            last[home[t]] = k
    last |= dict.fromkeys((home[t] for t in model.results), len(rows))
    alive = set(first) - {home[t] for t in model.constants}
    return max(
        sum(size[t] for t in alive if first[t] <= k <= last[t]) + (rows[k][2] if 0 <= k < len(rows) else 0)
        for k in range(-1, len(rows) + 1)
    )


def bytes_of(model: DrawnModel, how: Format, tensor: int) -> int:
    item = 1 if tensor in model.conditions else how.item
    return -(-prod(model.shapes[tensor]) * item // how.alignment) * how.alignment


def _scratch_bytes(model: DrawnModel, how: Format, step: Step) -> int:
    """Return the scratch bytes of a step: only a transposed convolution has some, for 32-bit accumulators."""
    plain, unaligned = replace(model, conditions=()), replace(how, alignment=4)
    return 4 * bytes_of(plain, unaligned, step.outputs[0]) if step.kind == "deconv" else 0


@dataclass
class _Draft:
    rng: random.Random
    how: Format
    shapes: list[Shape] = field(default_factory=list)
    given: list[int] = field(default_factory=list)
    constants: list[int] = field(default_factory=list)
    conditions: list[int] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    live: list[int] = field(default_factory=list)

    def tensor(self, shape: Shape, *, is_value: bool = True) -> int:
        self.shapes.append(shape)
        self.live += [len(self.shapes) - 1] if is_value else []
        return len(self.shapes) - 1

    def add(self, kind: str, inputs: Sequence[int], *shapes: Shape) -> None:
        made = tuple(self.tensor(shape) for shape in shapes)
        self.steps.append(Step(kind, tuple(inputs), made))

    def step(self, kind: str) -> None:
        """Add a step of the given kind or, if the drawn tensor does not allow it, an element-wise step."""
        x = self.rng.choice(self.live)
        rows, columns = shape = self.shapes[x]
        if kind == "add":
            self.add(kind, (x, self.rng.choice([t for t in self.live if self.shapes[t] == shape])), shape)
        elif kind == "matmul":
            width = self.rng.choice((4, 8, 64))
            self.constants.append(self.tensor((columns, width), is_value=False))
            self.add(kind, (x, self.constants[-1]), (rows, width))
        elif kind == "concat" and columns < 128:
            self.add(kind, (x, self.rng.choice([t for t in self.live if self.shapes[t] == shape])), (rows, 2 * columns))
        elif kind in ("split", "half") and columns % 2 == 0:
            self.add(kind, (x,), *[(rows, columns // 2)] * (2 if kind == "split" else 1))
        elif kind == "deconv" and columns < 128:
            self.add(kind, (x,), (rows, 2 * columns))
        elif kind == VIEW and columns % 2 == 0:
            self.add(kind, (x,), (2 * rows, columns // 2))
        elif kind == OVER and x not in self.given:
            family = {x}
            for step in (*self.steps, *reversed(self.steps)):
                if step.kind in (VIEW, OVER) and family & {*step.inputs, *step.outputs}:
                    family |= {*step.inputs, *step.outputs}
            if not family.isdisjoint(self.given):
                return
            self.add(kind, (x,), shape)
            self.live = [t for t in self.live if t not in family]
        elif kind == "shape":
            self.steps.append(Step(kind, (x,)))
        elif kind == CHOICE:
            self.choice(x, shape)
        else:
            self.add(self.rng.choice(("relu", "neg")), (x,), shape)

    def choice(self, x: int, shape: Shape) -> None:
        condition = self.tensor((1, 1), is_value=False)
        self.given.append(condition)
        self.conditions.append(condition)
        other, branches = self.rng.choice(self.live), []
        for is_long in (True, False):
            a, result = self.tensor(shape, is_value=False), self.tensor(shape, is_value=False)
            wide = self.tensor(self.shapes[other], is_value=False)
            rows = [Step("neg", (other,), (wide,)), Step("relu", (x,), (a,)), Step("neg", (a,), (result,))]
            branches.append(tuple(rows) if is_long else (Step("neg", (x,), (result,)),))
        self.steps.append(Step(CHOICE, (condition,), (self.tensor(shape),), tuple(branches)))

    def model(self) -> DrawnModel:
        # A graph of ggml contains only inputs that are read, so add a step that reads each unread input.
        if self.how.keeps_unread:
            for t in set(self.given).difference(*(step.inputs for step in self.steps)):
                self.add("relu", (t,), self.shapes[t])
        read = {t for step in self.steps for row in (step, *sum(step.branches, ())) for t in row.inputs}
        results = [t for t in self.live if t not in read and t not in self.given]
        if not self.how.keeps_unread:
            results += [t for t in self.live if t in read and t not in self.given and self.rng.random() < 0.1]
            if len(results) > 1 and self.rng.random() < 0.2:
                del results[self.rng.randrange(len(results))]
            if self.rng.random() < 0.1 and self.how.suffix != ".onnx":
                results.append(self.given[0])
        return DrawnModel(
            shapes=tuple(self.shapes),
            given=tuple(self.given),
            constants=tuple(self.constants),
            results=tuple(results or self.live[-1:]),
            steps=tuple(self.steps),
            conditions=tuple(self.conditions),
        )
