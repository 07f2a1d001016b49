"""Source document 2: the liveness analysis of USMP (TVM) for Relax and TIR."""

import random
from itertools import combinations
from typing import Any

import memplan
from memplan.programs.operations.builder import ProgramBuilder
from tests.support.programs import call, function, loop, op
from tests.support.seed_entrances import Command, Http, offsets

Row = dict[str, Any]


def operations(**functions: Row) -> Row:
    return {"functions": functions}


LEAF = function(op("p -> s"), op("s -> q"), takes="p", gives="q", p=10, q=10, s=50)
BLOCK = function(
    op("p -> t1"), op("t1 -> m"), call("leaf", "m -> n"), op("n -> t2"), op("t2 -> q"), takes="p", gives="q",
    p=10, q=10, m=10, n=10, t1=200, t2=200,
)  # fmt: skip
SIZES: dict[str, Any] = dict.fromkeys("xyzw", 10)
MAIN = function(call("block", "x -> y"), op("y -> z"), call("block", "z -> w"), takes="x", gives="w", **SIZES)
CALLS = operations(main=MAIN, block=BLOCK, leaf=LEAF)
"""`main` calls `block` twice; `block` has two temporaries of disjoint lifetimes, and calls `leaf` between them."""


def steps_of(program: Row, name: str = "main", path: str = "main/", actual: Row | None = None) -> list[set[str]]:
    """Return the buffers (named by call path) that each step of a loop-free program reads or writes."""
    body = program["functions"][name]
    actual = actual or {each: path + each for each in (*body["params"], *body["results"])}
    names = {row["id"]: actual.get(row["id"], path + row["id"]) for row in body["buffers"]}
    steps: list[set[str]] = []
    for k, statement in enumerate(body["body"]):
        if "call" in statement:
            callee = program["functions"][statement["call"]]
            formal = (*callee["params"], *callee["results"])
            passed = (*statement["inputs"], *statement["outputs"])
            inner = dict(zip(formal, [names[each] for each in passed], strict=True))
            steps += steps_of(program, statement["call"], f"{path}{k}:{statement['call']}/", inner)
        else:
            steps.append({names[each] for each in (*statement["inputs"], *statement["outputs"])})
    return steps


def lives_of(program: Row) -> dict[str, tuple[int, int]]:
    """Return each buffer's half-open lifetime in steps; params are also used before, and results after the program."""
    steps = steps_of(program)
    main = program["functions"]["main"]
    steps = [{f"main/{each}" for each in main["params"]}, *steps, {f"main/{each}" for each in main["results"]}]
    at = {name: [k - 1 for k, touched in enumerate(steps) if name in touched] for touched in steps for name in touched}
    return {name: (times[0], times[-1] + 1) for name, times in at.items()}


def random_calls(seed: int) -> Row:
    """Return random functions, each a chain of operations with possible calls of later functions."""
    rng = random.Random(seed)
    functions: Row = {}
    names = [f"f{k}" for k in range(rng.randint(1, 3))]
    for k, name in reversed(list(enumerate(["main", *names]))):
        sizes, body, last = {"p": 8, "q": 8}, [], "p"
        for j in range(rng.randint(1, 4)):
            made = f"t{j}"
            callees = [other for other in names[k:] if rng.random() < 0.4]
            sizes[made] = 8 if callees else rng.randrange(8, 90)
            one = f"{last} {rng.choice(['p', last])} -> {made}"
            body.append(call(callees[0], f"{last} -> {made}") if callees and sizes[last] == 8 else op(one))
            last = made
        functions[name] = function(*body, op(f"{last} -> q"), takes="p", gives="q", constants="", **sizes)
    return operations(**functions)


def lifetimes(answer: Row) -> dict[str, tuple[int, int]]:
    return {row["id"]: (row["start"], row["end"]) for row in answer["problem"]["buffers"]}


def test_s2_01_lifetimes_follow_from_calls_over_functions(http: Http) -> None:
    assert lifetimes(http.ask("liveness", CALLS)) == lives_of(CALLS)
    for seed in range(12):
        drawn = random_calls(seed)
        assert lifetimes(http.ask("liveness", drawn)) == lives_of(drawn), seed


def test_s2_02_temporaries_are_lifted_to_the_call(http: Http) -> None:
    found = lifetimes(http.ask("liveness", CALLS, temporaries="lifted"))
    whole = {name: life for name, life in lifetimes(http.ask("liveness", CALLS)).items() if "0:block/" in name}
    begins, ends = 0, 6  # the six steps of the first call
    wanted = {name: (2, 4) if "leaf" in name else (begins, ends) for name in whole}
    assert {name: found[name] for name in whole} == wanted


def test_s2_03_programs_are_built_in_python_in_a_few_lines() -> None:
    program = ProgramBuilder()
    leaf = program.function("leaf")
    leaf.returns(leaf.emit("second", leaf.emit("first", leaf.param("p", size=10), size=50), size=10))
    main = program.function("main")
    (once,) = main.call(leaf, main.param("x", size=10))
    main.returns(*main.call(leaf, once))
    found = memplan.liveness(program.operations())
    assert found.workspace.live_bytes == 60
    assert [found.problem.buffers[k].intervals for k in range(2)] == [((-1, 1),), ((1, 3),)]


def test_s2_04_temporaries_of_a_call_that_are_never_alive_together_are_not_added_up(http: Http) -> None:
    readings = http.ask("liveness", CALLS)["readings"]
    alive = {(row["temporaries"], row["liveness"]): (row["live_bytes"], row["lost_bytes"]) for row in readings}
    lives = lives_of(CALLS)
    sizes = {row["id"]: row["size"] for row in http.ask("liveness", CALLS)["problem"]["buffers"]}
    most = max(sum(sizes[name] for name, (low, high) in lives.items() if low <= t < high) for t in range(-1, 13))
    assert alive["nested", "usage"] == (most, 0)
    assert most == 210
    # Lifted, both temporaries of 200, m and n, the leaf's 50, and input and output are alive together.
    assert alive["lifted", "usage"] == (490, 280)


def test_s2_05_usage_lifetimes_start_at_the_first_use_and_scope_lifetimes_at_the_alloc(http: Http) -> None:
    body = [{"alloc": ["a"]}, op("x -> b"), op("b -> a"), op("a -> y"), {"free": ["a"]}]
    main = function(*body, takes="x", gives="y", x=10, y=10, a=100, b=40)
    asked = operations(main=main)
    by = {reading: lifetimes(http.ask("liveness", asked, liveness=reading)) for reading in ("usage", "scope")}
    assert by["usage"]["main/a"] == (2, 4)  # the alloc statement counts as a step
    assert by["scope"]["main/a"] == (0, 4)
    readings = http.ask("liveness", operations(main=main))["readings"]
    assert [row["lost_bytes"] > 0 for row in readings if row["liveness"] == "scope"] == [True, True]


def test_s2_06_functions_with_no_one_and_many_temporaries_are_counted(http: Http) -> None:
    assert http.ask("liveness", CALLS)["temporaries"] == {"none": 0, "one": 1, "many": 1}


def test_s2_07_temporaries_at_any_call_depth_are_analysed(http: Http) -> None:
    depth = 12
    bodies = [(op("p -> a"), call(f"f{k + 1}", "a -> b"), op("b -> q")) for k in range(depth)]
    inner = {f"f{k}": function(*body, takes="p", gives="q", p=8, q=8, a=8, b=8) for k, body in enumerate(bodies)}
    leaf = function(op("p -> q", temporaries="t"), takes="p", gives="q", p=8, q=8, t=100)
    main = function(call("f0", "x -> y"), takes="x", gives="y", x=8, y=8)
    found = http.ask("liveness", operations(main=main, **inner, **{f"f{depth}": leaf}))
    path = "main/0:f0/" + "".join(f"1:f{k}/" for k in range(1, depth + 1))
    assert found["workspace"] == {"live_bytes": 116, "time": depth, "path": path + "0", "any_order_live_bytes": 116}
    assert f"{path}t" in lifetimes(found)


def test_s2_08_events_and_frees_follow_the_last_use(http: Http) -> None:
    found = http.ask("liveness", CALLS)
    lives = lives_of(CALLS)
    events = {(event["time"], event["kind"], event["buffer"]) for event in found["events"]}
    begun = {(low, "alloc", name) for name, (low, _) in lives.items()}
    assert events == begun | {(high, "kill", name) for name, (_, high) in lives.items()}
    freed = {row["buffer"]: row["path"] for row in found["insert_free"]}
    paths = [step["path"] for step in found["steps"]]
    own = {name for name in lives if name not in ("main/x", "main/w")}
    assert freed == {name: paths[lives[name][1] - 1] for name in own}
    assert {row["where"] for row in found["insert_free"]} == {"after"}


def test_s2_09_lifting_at_most_one_temporary_wastes_no_bytes(http: Http) -> None:
    rng = random.Random(9)
    for _ in range(6):
        sizes = {f"t{k}": rng.randrange(8, 99) for k in range(4)}
        leaves = {
            f"f{k}": function(op("p -> q", temporaries="t"), takes="p", gives="q", p=8, q=8, t=size)
            for k, size in enumerate(sizes.values())
        }
        names = ["x", "a", "b", "c", "y"]
        main = function(
            *(call(f"f{k}", f"{names[k]} -> {names[k + 1]}") for k in range(4)),
            takes="x", gives="y", constants="", **dict.fromkeys(names, 8),
        )  # fmt: skip
        readings = http.ask("liveness", operations(main=main, **leaves))["readings"]
        assert [row["live_bytes"] for row in readings if row["liveness"] == "usage"] == [16 + max(sizes.values())] * 2


SUBTRACT = function(loop(op("image -> result")), takes="image", gives="result", image=150528, result=301056)
CONVOLVE = function(
    loop(op("data -> padded")),
    loop(loop(op("-> sums"), loop(op("sums padded -> sums"))), loop(op("sums -> result"))),
    takes="data", gives="result", data=301056, padded=314646, sums=256, result=802816,
)  # fmt: skip
POOL = function(
    loop(loop(loop(op("-> tensor")), loop(op("data tensor -> tensor")))),
    loop(op("tensor -> result")),
    takes="data", gives="result", data=802816, tensor=200704, result=401408,
)  # fmt: skip
MOBILENET = operations(
    main=function(
        call("subtract", "input -> sid_9"), call("convolve", "sid_9 -> sid_8"), call("pool", "sid_8 -> output"),
        takes="input", gives="output", input=150528, sid_9=301056, sid_8=802816, output=401408,
    ),
    subtract=SUBTRACT, convolve=CONVOLVE, pool=POOL,
)  # fmt: skip
"""The program of apache/tvm v0.16.0, test_tir_usmp_analysis_extract_bufferinfo.py."""


def test_s2_10_several_allocations_of_a_function_as_in_usmps_tests(http: Http, command: Command) -> None:
    found = http.ask("liveness", MOBILENET, plan_inputs="false", plan_outputs="false")
    assert found["workspace"]["live_bytes"] == 1_117_718
    assert {row["temporaries"]: row["live_bytes"] for row in found["readings"] if row["liveness"] == "usage"} == {
        "nested": 1_117_718, "lifted": 1_117_718 + 301_056,
    }  # fmt: skip
    lives = lifetimes(found)
    assert {
        frozenset(name.rsplit("/", 1)[-1] for name in pair)
        for pair in combinations(lives, 2)
        if max(lives[name][0] for name in pair) < min(lives[name][1] for name in pair)
    } == {
        frozenset(pair.split())
        for pair in ("padded sid_9", "padded sid_8", "padded sums", "sid_8 sums", "sid_8 tensor")
    }

    unused = function(op("p -> q"), takes="p", gives="q", p=8, q=8, dummy=4)
    main = function(call("unused", "x -> y"), takes="x", gives="y", x=8, y=8)
    assert http.ask("liveness", operations(main=main, unused=unused))["unused"] == ["main/0:unused/dummy"]

    # The program runs at the plan's addresses; with one buffer moved, the run names the overwritten buffer.
    program = command.file("program.json", CALLS)
    assert command("plan", program, "-o", "plan.json", "-q").status == 0
    assert command("liveness", program, "--plan", "plan.json").answer["shadow"] == {"intact": True, "clobbered": []}
    plan = http.ask("plan", CALLS)
    at = offsets(plan)
    for row in plan["placements"]:
        if row["id"] == "main/0:block/m":
            row["offset"] = at["main/0:block/t1"]
    ran = command("liveness", program, "--plan", command.file("sabotaged.json", plan))
    assert ran.status == 3
    entry = ran.answer["shadow"]["clobbered"][0]
    assert (entry["buffer"], entry["pool"]) == ("main/0:block/t1", "default")


def test_s2_11_planning_each_function_separately_wastes_bytes(http: Http) -> None:
    peaks = http.ask("liveness", CALLS, compare="true", time_limit_s=5)["peaks"]
    by = {(row["planning"], row["temporaries"], row["liveness"]): row["peak"] for row in peaks}
    assert by["global", "nested", "usage"] == 210
    # Planned separately, a block needs 210 bytes in addition to its input and output.
    assert by["local", "nested", "usage"] == 230
    assert by["global", "lifted", "usage"] == 490


def test_s2_12_each_call_of_a_function_has_its_own_buffers(http: Http) -> None:
    found = lifetimes(http.ask("liveness", CALLS))
    assert {name for name in found if name.endswith("/t1")} == {"main/0:block/t1", "main/2:block/t1"}
    assert {name for name in found if "leaf" in name} == {"main/0:block/2:leaf/s", "main/2:block/2:leaf/s"}
