"""Random programs with views, branches and loops, like those of importers, and their byte-by-byte execution.

Every computed value is a unique token. The program runs on a memory of bytes at planned offsets: an operation writes
the tokens of its outputs; a view that is an alias writes nothing, any other view copies. Each reader must find the
token of the value that it reads, whichever views are aliases.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from memplan.extensions.readers.draft import Kind, OperationsDraft
from memplan.planner.foreign.model_options import ModelOptions

SIZE = 4


@dataclass(frozen=True)
class Step:
    """The effect of a statement: `op` computes; `view` and `hand-out` give `outputs[0]` the value of `inputs[0]`.

    `if` runs one of its bodies; `loop` runs its first body a few times. `move` gives each output in turn the value of
    the input at the same position.
    """

    kind: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    bodies: tuple[tuple[Step, ...], ...] = ()


@dataclass
class _Author:
    """A program that is being drawn, as a draft and as steps at the same time."""

    chance: random.Random
    draft: OperationsDraft
    left: int
    names: count[int] = field(default_factory=count)

    def declare_buffer(self, kind: Kind = "plain") -> str:
        name = f"v{next(self.names)}"
        self.draft.declare(name, SIZE, kind)
        return name

    def body(self, visible: list[str], depth: int) -> list[Step]:
        """Return a few random steps, each of which may read visible buffers and adds its outputs to them."""
        steps = []
        for _ in range(self.chance.randint(1, 5)):
            if self.left <= 0:
                break
            self.left -= 1
            kind = self.chance.choices(("op", "view", "if", "loop"), (4, 4, 1, 1) if depth < 2 else (1, 1, 0, 0))[0]
            steps.append(
                {"op": self._op, "view": self._view, "if": self.add_branches, "loop": self._loop}[kind](visible, depth)
            )
        return steps

    def _op(self, visible: list[str], _: int) -> Step:
        inputs = self.chance.sample(visible, min(len(visible), self.chance.randint(1, 2)))
        made = self.declare_buffer()
        self.draft.operation("op", inputs, [made])
        visible.append(made)
        return Step("op", tuple(inputs), (made,))

    def _view(self, visible: list[str], _: int) -> Step:
        source, made = self.chance.choice(visible), self.declare_buffer()
        self.draft.view("view", source, made)
        visible.append(made)
        return Step("view", (source,), (made,))

    def add_branches(self, visible: list[str], depth: int) -> Step:
        outputs = [self.declare_buffer("chosen") for _ in range(self.chance.randint(1, 2))]
        bodies, blocks = [], []
        for _ in range(2):
            self.draft.begin_block()
            inside = list(visible)
            steps = self.body(inside, depth + 1)
            for output in outputs:
                source = self.chance.choice(inside[-3:])
                self.draft.hand_out("hand out", source, output)
                steps.append(Step("hand-out", (source,), (output,)))
            blocks.append(self.draft.end_block())
            bodies.append(tuple(steps))
        self.draft.branches((), blocks)
        visible += outputs
        return Step("if", (), tuple(outputs), tuple(bodies))

    def _loop(self, visible: list[str], depth: int) -> Step:
        state = [self.declare_buffer("carried") for _ in range(self.chance.randint(1, 2))]
        first = self.chance.choices(visible, k=len(state))
        self.draft.operation("begin", first, state)
        self.draft.begin_block()
        inside = [*visible, *state]
        steps = self.body(inside, depth + 1)
        sources = []
        for _ in state:  # like importers, copy the state before it is overwritten
            source = self.chance.choice(inside[-4:])
            if source in state:
                aside = self.declare_buffer()
                self.draft.operation("aside", [source], [aside])
                steps.append(Step("move", (source,), (aside,)))
                source = aside
            sources.append(source)
        self.draft.operation("next", sources, state)
        steps.append(Step("move", tuple(sources), tuple(state)))
        self.draft.loop(self.draft.end_block(), None)
        visible += state
        return Step("loop", tuple(first), tuple(state), (tuple(steps),))


def random_program(seed: int, options: ModelOptions) -> tuple[OperationsDraft, tuple[Step, ...], tuple[str, ...]]:
    """Return a random program as a draft and as steps, and its inputs."""
    chance = random.Random(seed)
    params = tuple(f"x{k}" for k in range(chance.randint(1, 2)))
    results = tuple(f"y{k}" for k in range(chance.randint(1, 2)))
    draft = OperationsDraft(None, results, options, 1)
    author = _Author(chance, draft, chance.randint(3, 14))
    for name in params:
        draft.declare(name, SIZE, "param")
    visible = list(params)
    steps = author.body(visible, 0)
    for name in results:
        draft.declare(name, SIZE)
        source = chance.choice(visible)
        if chance.random() < 0.5:
            draft.view("view", source, name)
            steps.append(Step("view", (source,), (name,)))
        else:
            draft.operation("op", [source], [name])
            steps.append(Step("op", (source,), (name,)))
        visible.append(name)
    return draft, tuple(steps), params


@dataclass
class Machine:
    """A memory of bytes that runs steps; `places` are offsets by name, `families` map values to their buffers."""

    places: dict[str, int]
    families: dict[str, str]
    chance: random.Random
    memory: dict[int, tuple[int, int]] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    fresh: count[int] = field(default_factory=count)

    def run(self, steps: Sequence[Step], params: Sequence[str], results: Sequence[str]) -> None:
        """Run a program from its inputs to the reading of its results; raises AssertionError if a value is lost."""
        for name in params:
            self._write(name, next(self.fresh))
        self._steps(steps)
        for name in results:
            self._read(name)

    def _steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if step.kind in ("view", "hand-out") and self._is_alias(step):
                self.tokens[step.outputs[0]] = self.tokens[step.inputs[0]]
                continue
            if step.kind == "op":
                for name in step.inputs:
                    self._read(name)
                self._write(step.outputs[0], next(self.fresh))
                continue
            for source, target in zip(step.inputs, step.outputs, strict=step.kind != "if"):
                self._write(target, self._read(source))
            if step.kind == "if":
                self._steps(self.chance.choice(step.bodies))
            elif step.kind == "loop":
                for _ in range(self.chance.randint(0, 3)):
                    self._steps(step.bodies[0])

    def _is_alias(self, step: Step) -> bool:
        return self.families[step.inputs[0]] == self.families[step.outputs[0]]

    def _write(self, name: str, token: int) -> None:
        self.tokens[name] = token
        for k in range(SIZE):
            self.memory[self.places[name] + k] = (token, k)

    def _read(self, name: str) -> int:
        token = self.tokens[name]
        found = [self.memory[self.places[name] + k] for k in range(SIZE)]
        assert found == [(token, k) for k in range(SIZE)], f"{name} was overwritten"
        return token
