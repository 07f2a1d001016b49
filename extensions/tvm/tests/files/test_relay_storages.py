"""Relay's storages: read from graphs, and planned by its tokens."""

from __future__ import annotations

import random
from typing import Any

import pytest

import memplan
from memplan.extensions.networks.liveness.liveness import LivenessOptions
from memplan.extensions.networks.operations.operations import operations_from
from memplan.planner.errors import OperationsError
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.solve import solve
from tests.support.depth import DEPTH

Node = tuple[Any, ...]


def size_of_token(token: list[int]) -> int:
    return token[1]


class Twin:
    """The planner again: nodes as Relay has them, tokens as lists [uses, bytes, id], all free ones searched."""

    def __init__(self, nodes: list[Node], results: list[str], match_range: int) -> None:
        self.match_range = match_range
        self.free: list[list[int]] = []
        wanted: dict[str, list[list[int]]] = {}
        for kind, name, inputs, sizes in nodes:
            if kind == "tuple":
                wanted[name] = [token for each in inputs for token in wanted[each]]
            elif kind == "item":
                wanted[name] = [wanted[inputs[0]][sizes]]
            else:
                wanted[name] = [[0, size, -1] for size in sizes]
            if kind in ("call", "reshape"):
                for each in inputs:
                    for token in wanted[each]:
                        token[0] += 1
        given_back = {id(token): token for each in results for token in wanted[each]}
        for token in given_back.values():  # operations name a result once
            token[0] += 1
        self.uses = {name: tuple(token[0] for token in tokens) for name, tokens in wanted.items()}
        self.tokens: dict[str, list[list[int]]] = {}
        self.all: list[list[int]] = []
        for kind, name, inputs, sizes in nodes:
            if kind == "tuple":
                self.tokens[name] = [token for each in inputs for token in self.tokens[each]]
            elif kind == "item":
                self.tokens[name] = [self.tokens[inputs[0]][sizes]]
            else:
                self.node(kind, name, inputs, wanted[name])
        self.ids = {name: tuple(token[2] for token in tokens) for name, tokens in self.tokens.items()}

    def node(self, kind: str, name: str, inputs: list[str], wanted: list[list[int]]) -> None:
        if kind == "reshape":
            token = self.tokens[inputs[0]][0]
            token[0] += wanted[0][0]
            self.tokens[name] = [token]
        else:
            self.tokens[name] = [self.request(kind, token) for token in wanted]
        if kind == "param":
            return
        for token in self.tokens[name]:
            self.release(token)
        for each in inputs:
            for token in self.tokens[each]:
                token[0] -= 1
                self.release(token)

    def release(self, token: list[int]) -> None:
        if token[0] == 0:
            self.free.append(token)

    def request(self, kind: str, token: list[int]) -> list[int]:
        size = token[1]
        if kind == "call" and self.match_range:
            larger = [each for each in self.free if size <= each[1] <= size * self.match_range]
            smaller = [each for each in self.free if size // self.match_range <= each[1] < size]
            if larger or smaller:
                # min takes the first freed of equal ones, and the last one from the reversed list.
                best: list[int] = min(larger, key=size_of_token) if larger else max(smaller[::-1], key=size_of_token)
                self.free = [each for each in self.free if each is not best]
                best[0], best[1] = token[0], max(best[1], size)
                return best
        token[2] = len(self.all)
        self.all.append(token)
        token[0] += kind != "call"
        return token


def operations_of(nodes: list[Node], results: list[str]) -> dict[str, Any]:
    """Return the operations of nodes: what a call makes is a tuple of that name."""
    buffers: list[dict[str, Any]] = []
    tuples: dict[str, Any] = {}
    body = []
    size_of: dict[str, int] = {}
    for kind, name, inputs, sizes in nodes:
        if kind == "tuple":
            tuples[name] = inputs
        elif kind == "item":
            tuples[name] = [f"{inputs[0]}[{sizes}]" if inputs[0] in tuples else inputs[0]]
        elif kind == "call":
            tuples[name] = [f"{name}.{k}" for k in range(len(sizes))]
            buffers += [{"id": f"{name}.{k}", "size": size} for k, size in enumerate(sizes)]
            body.append({"op": name, "inputs": inputs, "outputs": [name]})
        else:
            buffers.append({"id": name, "size": sizes[0]})
            size_of[name] = sizes[0]
            if kind == "reshape":
                source = inputs[0]
                root = next((row.get("alias_of") for row in buffers if row["id"] == source), None)
                buffers[-1]["alias_of"] = root or tuples.get(source, [source])[0]
                body.append({"op": "reshape", "inputs": inputs, "outputs": [name]})
    params = [name for kind, name, _, _ in nodes if kind == "param"]
    main = {"params": params, "results": results, "buffers": buffers, "tuples": tuples, "body": body}
    return {"functions": {"main": main}}


def draw_nodes(seed: int) -> tuple[list[Node], list[str]]:
    """Draw some nodes: params first, and then calls of one or two outputs, reshapes, tuples and items of these."""
    rng = random.Random(seed)
    scale = rng.choice((12, 300, 5_000))
    sizes = [rng.randrange(1, scale) for _ in range(6)]
    nodes: list[Node] = [("param", f"p{k}", [], [rng.choice(sizes)]) for k in range(rng.randint(1, 3))]
    width = {name: sizes for _, name, _, sizes in nodes}
    kind_of = dict.fromkeys(width, "param")
    for k in range(rng.randint(2, 25)):
        recent = list(width)[-6:]
        inputs = [rng.choice(recent) for _ in range(rng.randint(1, 3))]
        kind = rng.choice(("call", "call", "call", "tuple", "item", "reshape"))
        made: Any = [rng.choice(sizes) for _ in range(rng.choice((1, 1, 2)))]
        name = f"n{k}"
        if kind == "tuple":
            width[name] = [size for each in inputs for size in width[each]]
        elif kind == "item":
            inputs, made = inputs[:1], rng.randrange(len(width[inputs[0]]))
            width[name] = [width[inputs[0]][made]]
        elif kind == "reshape":
            one = [each for each in recent if kind_of[each] in ("param", "call", "reshape") and len(width[each]) == 1]
            if not one:
                continue
            inputs = [rng.choice(one)]
            width[name] = made = width[inputs[0]]
        else:
            width[name] = made
        kind_of[name] = kind
        nodes.append((kind, name, inputs, made))
    return nodes, sorted({rng.choice(list(width)) for _ in range(rng.randint(1, 2))})


@pytest.mark.drawn
@pytest.mark.parametrize("match_range", [0, 1, 2, 16])
def test_storages_and_counts_are_those_of_the_planner_written_again(match_range: int) -> None:
    for seed in range(150 * DEPTH):
        nodes, results = draw_nodes(seed)
        twin = Twin(nodes, results, match_range)
        operations = operations_from(operations_of(nodes, results))
        found = memplan.liveness(operations, options=LivenessOptions(match_range=match_range)).storages
        assert found is not None
        names = [name for _, name, _, _ in nodes]
        assert {name: found.storage_ids[name] for name in names} == twin.ids, seed
        assert {name: found.expected_uses[name] for name in names} == twin.uses, seed
        assert [row.max_bytes for row in found.storages] == [token[1] for token in twin.all], seed
        n_params = sum(kind == "param" for kind, *_ in nodes)
        assert [row.realloc for row in found.storages] == [k >= n_params for k in range(len(twin.all))]


def test_a_tensor_written_in_parts_keeps_one_storage_until_its_last_use() -> None:
    rows = [{"id": name, "size": 8} for name in ("x", "whole", "a", "b", "c")]
    parts = [{"id": f"part{k}", "size": 4, "alias_of": "whole", "alias_offset": 4 * k} for k in range(2)]
    made = [["x", "part0"], ["x", "a"], ["a", "part1"], ["a", "b"], ["b", "a"], ["whole", "c"]]
    body = [{"op": "run", "inputs": [one], "outputs": [other]} for one, other in made]
    main = {"params": ["x"], "results": ["c", "a"], "buffers": rows + parts, "body": body}
    found = memplan.liveness(operations_from({"functions": {"main": main}}), options=LivenessOptions(match_range=16))
    assert found.storages is not None
    ids = found.storages.storage_ids
    assert ids["whole"] == ids["part0"] == ids["part1"] == (1,)
    assert (ids["a"], ids["b"], ids["c"]) == ((2,), (3,), (3,))


def problem(*rows: tuple[int, int, int], alignment: int = 1, capacity: int | None = None) -> Problem:
    """Return buffers b0, b1, ... of (size, start, end)."""
    buffers = [{"id": f"b{i}", "size": size, "start": start, "end": end} for i, (size, start, end) in enumerate(rows)]
    return Problem.model_validate({"buffers": buffers, "pools": [{"alignment": alignment, "size": capacity}]})


def offsets(wanted: Problem) -> list[int]:
    return [row.offset for row in solve(wanted, solver="reference:relay-storage-tokens").placements]


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        # tests/python/relay/test_backend_graph_executor.py, test_plan_memory, after its parameters: two take turns.
        ([(4, 0, 9), *((40, k, k + 2) for k in range(1, 7))], [0, 4, 44, 4, 44, 4, 44]),
        # Of 30, 10 and 20 free bytes, 15 take the smallest that is large enough.
        ([(30, 0, 2), (10, 0, 2), (20, 0, 2), (400, 1, 3), (15, 2, 4)], [0, 30, 40, 60, 40]),
        # Of equal ones, the first freed.
        ([(8, 0, 3), (8, 0, 2), (8, 4, 5)], [0, 8, 8]),
    ],
)
def test_storages_are_those_of_the_original(rows: list[tuple[int, int, int]], wanted: list[int]) -> None:
    assert offsets(problem(*rows)) == wanted


@pytest.mark.parametrize(
    ("free", "wanted", "is_reused"),
    [(160, 10, True), (161, 10, False), (10, 160, True), (10, 175, True), (10, 176, False)],
)
def test_storages_are_reused_within_sixteen_times_either_way(free: int, wanted: int, is_reused: bool) -> None:
    first, _, last = offsets(problem((free, 0, 1), (10_000, 0, 3), (wanted, 2, 3)))
    assert (first == last) == is_reused


def test_buffers_of_a_problem_lie_at_the_starts_of_storages_side_by_side() -> None:
    # b2 takes the larger of the free storages only because the other one is too small, and b3 takes that.
    assert offsets(problem((10, 0, 2), (6, 0, 2), (8, 2, 4), (3, 2, 4))) == [0, 10, 0, 10]


def test_a_storage_that_grows_moves_those_behind_it() -> None:
    assert offsets(problem((10, 0, 2), (6, 1, 5), (15, 3, 5))) == [0, 15, 0]


def test_storages_begin_at_multiples_of_the_alignment() -> None:
    assert offsets(problem((10, 0, 2), (6, 0, 2), alignment=8)) == [0, 16]


def test_storages_behind_the_capacity_are_named() -> None:
    # 12 bytes are enough, but the first storage stays in addition to the second one, which grows.
    plan = solve(problem((6, 0, 1), (6, 0, 1), (12, 1, 2), capacity=12), solver="reference:relay-storage-tokens")
    assert plan.status == "unknown"
    assert plan.explanation is not None
    assert plan.explanation.buffers == ("b1", "b2")


def test_operations_that_name_very_many_buffers_by_tuples_are_refused() -> None:
    main = {"params": ["x"], "buffers": [{"id": "x", "size": 8}], "tuples": {"t": ["x"] * 1000}}
    program = {"functions": {"main": main | {"body": [{"op": "run", "inputs": ["t"] * 1001}]}}}
    with pytest.raises(OperationsError, match=r"^functions\.main\.body: must name at most 1000000 buffers"):
        memplan.liveness(operations_from(program), options=LivenessOptions(match_range=16))
