"""Tests that aliases for views never change a result: random programs are run on planned memory, byte by byte."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest

from memplan.planner.errors import OptionError
from memplan.planner.foreign.imported import ViewFacts
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.model.problem import Problem
from memplan.programs.operations.statements import Operation
from memplan.programs.readers.draft import Kind, OperationsDraft
from memplan.solvers.portfolio.solve import solve
from tests.support.depth import seeds

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
            ways = {"op": self._op, "view": self._view, "if": self.add_branches, "loop": self._loop}
            steps.append(ways[kind](visible, depth))
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


SHARED, APART = ModelOptions(views="alias"), ModelOptions(views="separate")


def place_rows(problem: Problem) -> dict[str, int]:
    plan = solve(problem, time_limit_s=60, accept="fit")
    return {str(row.id).removeprefix("main/"): row.offset for row in plan.placements}


def families(draft: OperationsDraft) -> dict[str, str]:
    return {row.id: row.alias_of or row.id for row in draft.operations().functions["main"].buffers}


@pytest.mark.drawn
def test_random_programs_on_planned_memory_read_every_value_unchanged() -> None:
    for seed in seeds(40):
        for options in (SHARED, APART):
            draft, steps, params = random_program(seed, options)
            places = place_rows(draft.make_program().problem)
            unused = max(places.values()) + SIZE  # Values that are never read have no planned offset, so put them here.
            for name in families(draft):
                places.setdefault(name, unused)
            for k in range(5):
                Machine(places, families(draft), random.Random(k)).run(steps, params, draft.results)


def test_random_programs_contain_aliased_and_copied_views() -> None:
    facts = [random_program(seed, SHARED)[0].views for seed in range(100)]
    assert sum(row.aliases for row in facts) > 100
    assert sum(row.apart for row in facts) > 30


def draft_of(*, results: tuple[str, ...] = ("y",), **kinds: Any) -> OperationsDraft:
    draft = OperationsDraft("small", results, SHARED, 1)
    for name, kind in kinds.items():
        draft.declare(name, SIZE, kind)
    return draft


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("constant", "constants are stored elsewhere"),
        ("carried", "a loop writes it again"),
        ("persistent", "a persistent value may be written again"),
        ("param", "the caller owns inputs and outputs separately"),
    ],
)
def test_a_view_of_a_value_that_may_change_or_is_stored_elsewhere_is_a_copy(kind: str, reason: str) -> None:
    draft = draft_of(x=kind, y="plain")
    draft.view("Reshape", "x", "y")
    assert draft.views == ViewFacts(apart=1, apart_bytes=SIZE)
    (warning,) = draft.warnings
    assert warning.message == f'Reshape "y": takes {SIZE} bytes beside "x", because {reason}'


def test_a_view_with_another_size_is_a_copy() -> None:
    draft = draft_of(x="plain")
    draft.declare("y", 2 * SIZE)
    draft.view("Reshape", "x", "y")
    assert draft.warnings[0].message.endswith("their sizes differ")


def test_a_chain_of_views_is_one_buffer_named_after_the_output() -> None:
    draft = draft_of(x="param", a="plain", b="plain", y="plain")
    draft.operation("op", ["x"], ["a"])
    draft.view("Reshape", "a", "b")
    draft.view("Reshape", "b", "y")
    assert families(draft) == {"x": "x", "a": "y", "b": "y", "y": "y"}
    assert draft.operations().functions["main"].body == (Operation(op="op", inputs=("x",), outputs=("a",)),)


def test_a_branch_writes_its_output_in_place_only_if_it_made_the_source() -> None:
    draft = draft_of(results=("y",), x="param", outer="plain", y="chosen", z="chosen")
    draft.operation("op", ["x"], ["outer"])
    draft.begin_block()
    draft.declare("inner", SIZE)
    draft.operation("op", ["x"], ["inner"])
    draft.hand_out("If", "inner", "y")
    draft.hand_out("If", "inner", "z")
    first = draft.end_block()
    draft.begin_block()
    draft.hand_out("If", "outer", "y")
    draft.hand_out("If", "x", "z")
    draft.branches(["x"], [first, draft.end_block()])
    assert families(draft)["inner"] == "y"
    assert [warning.message.partition(", because ")[2] for warning in draft.warnings] == [
        "it is written for another output, too",
        "it may be used outside of the branch",
        "it may be used outside of the branch",
    ]


def test_stated_scratch_is_alive_while_its_operation_runs_and_unknown_names_are_refused() -> None:
    def problem(**scratch: int) -> Problem:
        draft = OperationsDraft("small", ("z",), ModelOptions(scratch=scratch), 16)
        for name in "xyvz":
            draft.declare(name, SIZE, "param" if name == "x" else "plain")
        draft.operation("Conv", ["x"], ["y"])
        draft.view("Reshape", "y", "v")
        draft.operation("Conv", ["v"], ["z"])
        return draft.make_program().problem

    def scratch_rows(rows: Problem) -> list[tuple[int, tuple[tuple[int, int], ...]]]:
        return [(row.size, row.intervals) for row in rows.buffers if "#scratch" in str(row.id)]

    assert [size for size, _ in scratch_rows(problem(Conv=100))] == [100, 100]
    of_all, of_one = scratch_rows(problem(Conv=100, z=64)), scratch_rows(problem(z=64))
    assert [size for size, _ in of_all] == [100, 64]
    assert of_one == of_all[1:]
    assert scratch_rows(problem(Conv=0)) == []
    for name in ("Reshape", "Pool", "x"):
        with pytest.raises(OptionError, match=rf"scratch: must name operators that run \(Conv\), .* got \"{name}\""):
            problem(**{name: 64})
