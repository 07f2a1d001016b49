"""Tests of Relay's storages, which are computed from operations and also used as a planner."""

import random
from typing import Any

import pytest

import memplan
from memplan.planner.errors import OperationsError
from memplan.planner.model.problem import Problem
from memplan.programs.liveness.liveness import LivenessOptions
from memplan.programs.operations.operations import operations_from
from memplan.solvers.portfolio.solve import solve
from tests.support.depth import DEPTH

Node = tuple[Any, ...]


def size_of_token(token: list[int]) -> int:
    return token[1]


class Twin:
    """A simple second implementation of Relay's planner, which tries all free tokens, lists of [uses, bytes, id]."""

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
        for token in given_back.values():  # Count a result once, even if it is returned twice.
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
                # Of equal tokens, `min` returns the first freed, and `max` of the reversed list the last freed.
                best: list[int] = min(larger, key=size_of_token) if larger else max(smaller[::-1], key=size_of_token)
                self.free = [each for each in self.free if each is not best]
                best[0], best[1] = token[0], max(best[1], size)
                return best
        token[2] = len(self.all)
        self.all.append(token)
        token[0] += kind != "call"
        return token


def operations_of(nodes: list[Node], results: list[str]) -> dict[str, Any]:
    """Return the operations of the given nodes; the outputs of a call form a tuple that has the call's name."""
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
    """Return random nodes: parameters, then calls with one or two outputs, reshapes, tuples, and items of tuples."""
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
def test_storages_and_use_counts_equal_those_of_a_second_implementation(match_range: int) -> None:
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
    ids = found.storages.storage_ids
    assert ids["whole"] == ids["part0"] == ids["part1"] == (1,)
    assert (ids["a"], ids["b"], ids["c"]) == ((2,), (3,), (3,))


def problem(*rows: tuple[int, int, int], alignment: int = 1, capacity: int | None = None) -> Problem:
    """Return a problem with the buffers b0, b1, ..., each given as (size, start, end)."""
    buffers = [{"id": f"b{i}", "size": size, "start": start, "end": end} for i, (size, start, end) in enumerate(rows)]
    return Problem(buffers=buffers, pools=[{"alignment": alignment, "size": capacity}])


def offsets(wanted: Problem) -> list[int]:
    return [row.offset for row in solve(wanted, solver="reference:relay-storage-tokens").placements]


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        # From tests/python/relay/test_backend_graph_executor.py, test_plan_memory: the buffers alternate two storages.
        ([(4, 0, 9), *((40, k, k + 2) for k in range(1, 7))], [0, 4, 44, 4, 44, 4, 44]),
        # With free storages of 30, 10 and 20 bytes, a buffer of 15 bytes takes the storage of 20 bytes.
        ([(30, 0, 2), (10, 0, 2), (20, 0, 2), (400, 1, 3), (15, 2, 4)], [0, 30, 40, 60, 40]),
        # Of equal free storages, the first one freed is used.
        ([(8, 0, 3), (8, 0, 2), (8, 4, 5)], [0, 8, 8]),
        # The storage of 6 bytes is too small for b2, so b2 uses the one of 10 bytes, and b3 the one of 6 bytes.
        ([(10, 0, 2), (6, 0, 2), (8, 2, 4), (3, 2, 4)], [0, 10, 0, 10]),
        # A growing storage moves the following storages.
        ([(10, 0, 2), (6, 1, 5), (15, 3, 5)], [0, 15, 0]),
    ],
)
def test_storage_tokens_place_buffers_like_relay(rows: list[tuple[int, int, int]], wanted: list[int]) -> None:
    assert offsets(problem(*rows)) == wanted


def test_storages_start_at_multiples_of_the_alignment() -> None:
    assert offsets(problem((10, 0, 2), (6, 0, 2), alignment=8)) == [0, 16]


@pytest.mark.parametrize(
    ("free", "wanted", "is_reused"),
    [(160, 10, True), (161, 10, False), (10, 160, True), (10, 175, True), (10, 176, False)],
)
def test_storages_are_reused_for_sizes_within_a_factor_of_sixteen(free: int, wanted: int, is_reused: bool) -> None:
    first, _, last = offsets(problem((free, 0, 1), (10_000, 0, 3), (wanted, 2, 3)))
    assert (first == last) == is_reused


def test_the_explanation_names_buffers_in_storages_beyond_the_capacity() -> None:
    # A plan of 12 bytes exists, but the second storage grows to 12 bytes beside the first one of 6 bytes.
    plan = solve(problem((6, 0, 1), (6, 0, 1), (12, 1, 2), capacity=12), solver="reference:relay-storage-tokens")
    assert (plan.status, plan.explanation.buffers) == ("unknown", ("b1", "b2"))


def test_operations_that_use_too_many_buffers_by_tuples_are_refused() -> None:
    main = {"params": ["x"], "buffers": [{"id": "x", "size": 8}], "tuples": {"t": ["x"] * 1000}}
    program = {"functions": {"main": main | {"body": [{"op": "run", "inputs": ["t"] * 1001}]}}}
    with pytest.raises(OperationsError, match=r"^functions\.main\.body: must name at most 1000000 buffers"):
        memplan.liveness(operations_from(program), options=LivenessOptions(match_range=16))
