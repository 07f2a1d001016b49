"""Source document 4: Relay's PlanMemory, from pull request 2120 of TVM."""

import itertools
import random
from typing import Any

import pytest

from tests.support.seed_entrances import Command, Http, offsets, problem_of

Row = dict[str, Any]


def floats(name: str, *shape: int, **more: Any) -> Row:
    return {"id": name, "dtype": "float32", "shape": list(shape), **more}


def program(buffers: list[Row], body: list[tuple[str, str]], results: str, params: str = "x", **more: Any) -> Row:
    """Return operations with one statement per (inputs, outputs); names are separated by spaces."""
    statements = [{"op": "run", "inputs": read.split(), "outputs": made.split()} for read, made in body]
    main = {"params": params.split(), "results": results.split(), "buffers": buffers, "body": statements, **more}
    return {"functions": {"main": main}}


def chain(*sizes: int) -> Row:
    """Return a chain of operations, each of which reads the previous output: x, then t1, t2, ..."""
    names = ["x", *(f"t{k}" for k in range(1, len(sizes)))]
    buffers = [{"id": name, "size": size} for name, size in zip(names, sizes, strict=True)]
    return program(buffers, list(itertools.pairwise(names)), names[-1])


TEST_PLAN_MEMORY = program(
    [floats("x", 10), floats("y", 1), floats("exp", 1), *(floats(f"z{k}", 10) for k in range(6))],
    [("y", "exp"), ("x exp", "z0"), *((f"z{k}", f"z{k + 1}") for k in range(5))],
    "z5",
    "x y",
)
"""tests/python/relay/test_backend_graph_executor.py: test_plan_memory."""


def storages(http: Http, operations: Row, match_range: int = 16) -> Any:
    return http.ask("liveness", operations, match_range=match_range)["storages"]


def test_s4_01_relay_storage_tokens_are_available_as_a_reference_planner(http: Http) -> None:
    answer = http.ask("plan", problem_of(*[(40, k, k + 2) for k in range(5)]), solver="reference:relay-storage-tokens")
    assert offsets(answer) == {"a": 0, "b": 40, "c": 0, "d": 40, "e": 0}
    assert answer["solver"] == "reference:relay-storage-tokens"


def test_s4_02_expected_uses_of_storage_tokens_are_counted(http: Http) -> None:
    uses = storages(http, TEST_PLAN_MEMORY)["expected_uses"]
    assert uses == {name: [1] for name in ("x", "y", "exp", *(f"z{k}" for k in range(6)))}
    twice = program([floats(name, 4) for name in "xab"], [("x x", "a"), ("a x", "b")], "b")
    assert storages(http, twice)["expected_uses"] == {"x": [3], "a": [1], "b": [1]}


def test_s4_03_a_storage_token_grows_to_its_largest_tensor(http: Http) -> None:
    found = storages(http, chain(1, 10, 4, 25))
    assert found["storage_ids"] == {"x": [0], "t1": [1], "t2": [2], "t3": [1]}
    assert [row["max_bytes"] for row in found["storages"]] == [1, 25, 4]


def test_s4_04_tuples_and_tuple_items_use_the_storage_tokens_of_their_fields(command: Command) -> None:
    rows = [floats(name, 8) for name in "xabcd"]
    body = [("x", "a"), ("x", "b"), ("both", "c"), ("second c", "d")]
    tuples = {"both": ["a", "b"], "second": ["both[1]"]}
    ran = command("liveness", command.file("t.json", program(rows, body, "d", tuples=tuples)), "--match-range", "16")
    assert ran.status == 0
    ids, uses = ran.answer["storages"]["storage_ids"], ran.answer["storages"]["expected_uses"]
    assert ids == {"x": [0], "a": [1], "b": [2], "c": [3], "d": [1], "both": [1, 2], "second": [2]}
    assert (uses["both"], uses["second"]) == ([1, 2], [2])
    assert {row["id"]: row["end"] for row in ran.answer["problem"]["buffers"]}["main/b"] == 4


def test_s4_05_an_unused_output_is_released_immediately(http: Http) -> None:
    rows = [floats(name, 8) for name in ("x", "orphan", "a", "b")]
    answer = http.ask("liveness", program(rows, [("x", "orphan a"), ("a", "b")], "b"), match_range=16)
    assert answer["orphans"] == ["main/orphan"]
    assert [(row["start"], row["end"]) for row in answer["problem"]["buffers"] if "orphan" in row["id"]] == [(0, 1)]
    assert answer["storages"]["expected_uses"]["orphan"] == [0]
    assert answer["storages"]["storage_ids"] == {"x": [0], "orphan": [1], "a": [2], "b": [1]}


def test_s4_06_storage_of_params_constants_and_persistent_tensors_is_never_reused(http: Http) -> None:
    rows = [floats(name, 8) for name in ("x", "w", "a", "b")] + [floats("state", 8, persistent=True)]
    body = [("x w", "a"), ("a", "state"), ("state", "b")]
    found = storages(http, program(rows, body, "b", constants=["w"]))
    assert [row["realloc"] for row in found["storages"]] == [False, False, False, True]
    assert found["storage_ids"] == {"x": [0], "w": [1], "state": [2], "a": [3], "b": [3]}

    # Relax's test_analysis_estimate_memory_usage.py: five allocations become three, and the output is not reused.
    rows = [floats("x", 2, 4), floats("exp", 2, 4), floats("flat", 8, alias_of="exp"), floats("relu", 8)]
    rows += [floats("add", 8), floats("pad", 10), floats("log", 10, persistent=True)]
    body = [("x", "exp"), ("exp", "flat"), ("flat", "relu"), ("relu", "add"), ("add", "pad"), ("pad", "log")]
    relax = program(rows, body, "log")
    assert sorted(row["max_bytes"] for row in storages(http, relax)["storages"][1:]) == [32, 40, 40]
    assert len(storages(http, relax, 0)["storages"]) == 6


@pytest.mark.parametrize(
    ("match_range", "free", "size", "is_taken"),
    [
        *((16, 160, 10, True), (16, 161, 10, False), (16, 10, 175, True), (16, 10, 176, False)),
        *((2, 20, 10, True), (2, 21, 10, False), (2, 10, 21, True), (2, 10, 22, False), (0, 10, 10, False)),
    ],
)
def test_s4_07_match_range_limits_the_reuse_of_storage_tokens(
    http: Http, match_range: int, free: int, size: int, is_taken: bool
) -> None:
    ids = storages(http, chain(1, free, 10_000, size), match_range)["storage_ids"]
    assert (ids["t1"] == ids["t3"]) == is_taken


def test_s4_08_tensor_sizes_follow_bits_and_lanes_of_the_type_and_alignment(http: Http) -> None:
    types = {"int4": 2, "int4x8": 12, "float16x4": 24, "bool": 3, "bfloat16": 6, "float32": 12}
    rows = [{"id": dtype, "dtype": dtype, "shape": [3]} for dtype in types]
    made = http.ask("liveness", program(rows, [("", " ".join(types))], "", ""))["problem"]["buffers"]
    assert {row["id"].removeprefix("main/"): row["size"] for row in made} == types
    words = http.ask("plan", problem_of((5, 0, 2), (3, 0, 2), pools=[{"alignment": 4}]))
    assert sorted(offsets(words).values()) in ([0, 4], [0, 8])


OPEN = b"""# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("N", 64), dtype="float32")) -> R.Tensor(("N", 64), dtype="float32"):
        N = T.int64()
        with R.dataflow():
            y: R.Tensor((N, 64), dtype="float32") = R.nn.relu(x)
            z: R.Tensor((N, 64), dtype="float32") = R.nn.relu(y)
            R.output(z)
        return z
"""


def test_s4_09_an_unknown_dimension_is_reported_and_can_be_given(http: Http) -> None:
    refused = http.post("plan", OPEN)
    assert refused.status_code == 400
    assert 'got none for "N"; give it' in refused.json()["detail"]
    assert http.ask("plan", OPEN, dims="N=4")["peak"] == 2 * 4 * 64 * 4


def test_s4_10_variable_shapes_have_offsets_computed_at_run_time(http: Http) -> None:
    rows = [
        {"id": "a", "size": "4*n", "start": 0, "end": 2},
        {"id": "b", "size": "8*n", "start": 1, "end": 3},
        {"id": "c", "size": "900", "start": 2, "end": 4},
    ]
    answer = http.ask("shapes", {"buffers": rows, "symbols": {"n": {"min": 1, "max": 512}}}, to="python")
    assert answer["status"] == "optimal"
    computed: Row = {}
    exec(answer["source"], computed)
    for n in range(1, 513):
        peak, (a, b, c) = computed["plan"](n)
        assert peak == max(12 * n, 8 * n + 900) == max(a + 4 * n, b + 8 * n, c + 900)
        assert b >= a + 4 * n or a >= b + 8 * n
        assert b >= c + 900 or c >= b + 8 * n


def test_s4_11_one_plan_is_exported_to_several_backends_and_branches_share_bytes(http: Http, command: Command) -> None:
    rows = [floats(name, 25) for name in ("x", "then", "else", "y")]
    branches = [[call_of("x", "then"), call_of("then", "y")], [call_of("x", "else"), call_of("else", "y")]]
    main = {"params": ["x"], "results": ["y"], "buffers": rows, "body": [{"branches": branches, "inputs": ["x"]}]}
    found = http.ask("liveness", {"functions": {"main": main}})
    path = command.file("problem.json", found["problem"] | {"pools": [{"base_address": 0x20000000}]})
    assert http.ask("plan", found["problem"])["peak"] == 200
    for target in ("arena.c", "arena.ld", "plan.mlf.json", "malloc.c"):
        to = {"plan.mlf.json": "mlf", "malloc.c": "malloc-c"}.get(target)
        assert command("convert", path, "-o", target, *(("--to", to) if to else ()), "-q").status == 0
        assert (command.folder / target).stat().st_size > 0


def call_of(read: str, made: str) -> Row:
    return {"op": "run", "inputs": [read], "outputs": [made]}


def test_s4_12_refused_requests_are_counted_by_field_and_reason(http: Http) -> None:
    def refusals() -> dict[str, float]:
        lines = http.client.get("/metrics").text.splitlines()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if "refusals_total{" in line}

    series = 'memplan_refusals_total{about="pools",reason="problem",route="/v1/shapes"}'
    before = refusals().get(series, 0)
    problem = {"buffers": [{"id": "a", "size": "n", "start": 0, "end": 1}], "symbols": {"n": {"min": 1}}, "pools": []}
    assert http.post("shapes", problem).status_code == 422
    assert refusals()[series] == before + 1


def test_s4_13_an_answer_can_be_reduced_to_selected_fields(http: Http) -> None:
    problem = problem_of((4, 0, 2), (4, 1, 3))
    assert http.ask("plan", problem, fields="status,peak") == {"status": "optimal", "peak": 8}
    whole = http.ask("plan", problem)
    assert http.ask("plan", problem, fields="-placements").keys() == whole.keys() - {"placements"}
    assert "did you mean peak" in http.post("plan", problem, fields="peek").json()["detail"]


def sides(size: list[int]) -> tuple[int, int]:
    """Return width and height of a tensor of `global.texture`."""
    width, height = size[-2], 1
    for extent in size[:-2]:
        height *= extent
    return width, height


def test_s4_14_storage_ids_match_the_tests_of_relay(http: Http) -> None:
    found = storages(http, TEST_PLAN_MEMORY)
    assert [found["storage_ids"][name][0] for name in ("x", "y", "exp", "z0", "z1", "z2")] == [0, 1, 2, 3, 2, 3]
    assert [row["max_bytes"] for row in found["storages"]] == [40, 4, 40, 40]
    reshapes = program(
        [
            floats("x", 10, 4),
            floats("abs", 10, 1, 4),
            floats("t1", 10, 1, 4),
            floats("z1", 10, 1, 4),
            floats("z0", 2, 20, alias_of="abs"),
            floats("z2", 1, 40, alias_of="t1"),
        ],
        [("x", "abs"), ("abs", "z0"), ("abs", "t1"), ("t1", "z1"), ("t1", "z2")],
        "z0 z1 z2",
    )
    ids = storages(http, reshapes)["storage_ids"]
    assert [ids[name][0] for name in ("x", "abs", "z0", "t1", "z1", "z2")] == [0, 1, 1, 2, 3, 2]

    # Textures of different scopes, element types, or aspect ratios above five never share storage.
    rng = random.Random(14)
    scopes = ("global.texture", "global.texture-weight", "global")
    for _ in range(12):
        rows: list[Row] = [{"id": "x", "size": 1}]
        for k in range(12):
            shape = [rng.choice((4, 10, 22, 70)), rng.choice((4, 10, 22, 70)), 4]
            dtype, scope = rng.choice(("float16", "float32")), rng.choice(scopes)
            rows.append({"id": f"t{k}", "dtype": dtype, "shape": shape, "pools": [scope]})
        names = [row["id"] for row in rows]
        operations = program(rows, list(itertools.pairwise(names)), names[-1])
        found = storages(http, operations | {"pools": [{"name": scope} for scope in scopes]})
        for k, storage in enumerate(found["storages"]):
            inside = [row for row in rows[1:] if found["storage_ids"][row["id"]] == [k]]
            assert len({row["pools"][0] for row in inside}) <= 1
            if storage["texture"] and inside[0]["pools"] == ["global.texture"]:
                assert len({row["dtype"] for row in inside}) == 1
                for row in inside:
                    for side, most in zip(sides(row["shape"]), storage["texture"], strict=True):
                        assert side <= most
                        assert most // side <= 5
