"""Lifetimes of buffers by usage and by scope, compared with expected intervals and with brute force."""

import random
from collections import Counter, defaultdict
from contextlib import suppress
from typing import Any

import pytest

from lab.liveness_agreement import disagreements
from lab.support.heavy_bodies import statements
from memplan.planner.errors import OperationsError, TimeOverError
from memplan.programs.lifetimes import Reading, analyse, problem_of
from memplan.programs.lifetimes.expansion import expand
from memplan.programs.lifetimes.timeline import Loop, StatementBlock
from memplan.programs.lifetimes.uses import family_uses
from memplan.programs.operations.operations import Operations, operations_from
from tests.support.depth import seeds
from tests.support.programs import Statement, call, choice, function, loop, op, program
from tests.support.random_programs import random_program

Intervals = tuple[tuple[int, int], ...]


def lifetimes(operations: Operations, reading: Reading | None = None) -> dict[int | str, Intervals]:
    return {row.id: row.intervals for row in problem_of(operations, reading).buffers}


F = function(op("p -> t"), op("t -> q"), takes="p", gives="q", p=1, t=5, q=1)
KEEPS = function(op("state -> state"), state={"size": 4, "persistent": True})
CASES = {
    "from the first use to the last": (function(op("-> a"), op("a -> b"), op("b ->"), a=1, b=2), "a 0-2, b 1-3"),
    "between uses, though written anew": (function(op("-> a"), op("a ->"), op(), op("-> a"), a=1), "a 0-4"),
    "inputs and outputs": (
        function(op("x -> a"), op("a -> y"), op(), takes="x unused", gives="y", x=1, a=1, y=1, unused=1),
        "x -1-1, a 0-2, y 1-4, unused -1-0",
    ),
    "returned as it was given": (function(op("x -> x"), takes="x", gives="x", x=8), "x -1-2"),
    "branches exclude each other": (
        function(op("-> a"), choice([op("a -> b"), op("b ->")], [op("a -> c"), op("c ->")]), a=1, b=10, c=20),
        "a 0-2 3-4, b 1-3, c 3-5",
    ),
    "behind branches": (function(op("-> a"), choice([op()], [op(), op()], []), op("a ->"), a=1), "a 0-5"),
    "written in each branch": (function(choice([op(), op("-> a")], [op(), op("-> a")]), op("a ->"), a=1), "a 1-2 3-5"),
    "anew in each iteration": (function(loop(op("-> a"), op("a ->"), op()), op(), a=1), "a 0-2"),
    "across iterations": (function(loop(op(), op("a ->"), op("-> a"), op()), op(), a=1), "a 0-4"),
    "before a loop": (function(op("-> a"), loop(op(), op("-> a"), op()), op(), a=1), "a 0-4"),
    "behind a loop": (function(loop(op(), op("-> a"), op()), op("a ->"), a=1), "a 0-4"),
    "an inner loop that may not run": (function(loop(loop(op("-> a")), op("a ->"), op()), a=1), "a 0-3"),
    "an inner loop that runs": (function(loop(loop(op("-> a"), trips=2), op("a ->"), op()), a=1), "a 0-2"),
    "a loop of one trip is no loop": (function(loop(op(), op("a -> a"), op(), trips=1), a=1), "a 1-2"),
    "an alloc in a loop": (function(loop({"alloc": ["a"]}, op("a -> a"), op()), a=1), "a 1-2"),
    "calls have buffers of their own": (
        function(op(), call("f", "x -> a"), choice([call("f", "a -> y")], []), takes="x", gives="y", x=1, a=1, y=1),
        "x -1-2, a 2-4, y 4-6, 1:f/t 1-3, 2.0.0:f/t 3-5",
    ),
    "a call in a loop": (function(loop(op(), call("g"), op())), "0.1:g/t 1-3"),
    "a persistent buffer": (function(op(), call("keeps"), op()), "1:keeps/state -1-4"),
    "temporaries of an operation": (
        function(op("-> a", op(), op(), temporaries="t"), op("a ->"), a=1, t=3),
        "a 0-3, t 0-2",
    ),
}


@pytest.mark.parametrize(("main", "expected"), CASES.values(), ids=CASES)
def test_buffers_are_alive_from_their_first_use_to_their_last_use(main: dict[str, Any], expected: str) -> None:
    operations = program(main, f=F, g=function(op("t ->"), op("-> t"), t=1), keeps=KEEPS)
    said = ", ".join(
        " ".join([str(name).removeprefix("main/"), *(f"{start}-{end}" for start, end in intervals)])
        for name, intervals in lifetimes(operations).items()
    )
    assert said == expected


def test_constants_are_outside_of_the_problem_and_count_once_for_several_calls() -> None:
    main = function(call("f", "x -> a"), call("f", "a -> y"), takes="x", gives="y", x=1, a=1, y=1)
    found = analyse(program(main, f=function(op("p w -> q"), takes="p", gives="q", constants="w", p=1, q=1, w=100)))
    assert (found.constants, found.constant_bytes) == (("main/0:f/w",), 100)
    assert "main/0:f/w" not in found.problem.index


def test_a_buffer_that_is_never_read_is_freed_directly_after_its_write() -> None:
    found = analyse(program(function(op("-> a orphan"), op("a ->"), a=4, orphan=9)))
    assert (found.problem.buffers[1].intervals, found.orphans) == (((0, 1),), ("main/orphan",))
    frees = [(row.buffer, row.where, row.path) for row in found.insert_free]
    assert frees == [("main/a", "after", "main/1"), ("main/orphan", "after", "main/0")]


def test_temporaries_of_a_call_are_alive_between_their_uses_or_lifted_to_the_whole_call() -> None:
    f = function(op("p -> t"), op("t -> q"), op("-> u"), op("u q -> q"), takes="p", gives="q", p=4, q=4, t=100, u=80)
    operations = program(function(call("f", "x -> y"), takes="x", gives="y", x=4, y=4), f=f)
    lives = {"x": (-1, 1), "y": (1, 5), "0:f/t": (0, 2), "0:f/u": (2, 4)}
    assert lifetimes(operations) == {f"main/{name}": (life,) for name, life in lives.items()}
    lives = {"x": (-1, 4), "y": (0, 5), "0:f/t": (0, 4), "0:f/u": (0, 4)}
    lifted = {f"main/{name}": (life,) for name, life in lives.items()}
    assert lifetimes(operations, Reading(temporaries="lifted")) == lifted
    assert [
        (row.liveness, row.temporaries, row.live_bytes, row.lost_bytes) for row in analyse(operations).readings
    ] == [
        ("usage", "nested", 104, 0),
        ("scope", "nested", 188, 84),
        ("usage", "lifted", 188, 84),
        ("scope", "lifted", 188, 84),
    ]


def test_a_view_of_an_argument_is_an_alias_of_the_callers_buffer() -> None:
    f = function(op("v ->"), takes="p", p=8, v={"size": 4, "alias_of": "p", "alias_offset": 4})
    main = function(call("f", "w ->"), a=16, w={"size": 8, "alias_of": "a", "alias_offset": 8})
    found = problem_of(program(main, f=f)).buffers
    aliases = [("main/a", None, None), ("main/w", "main/a", 8), ("main/0:f/v", "main/a", 12)]
    assert [(row.id, row.alias_of, row.alias_offset) for row in found] == aliases


def test_an_argument_meets_the_alignments_and_pools_of_caller_and_callee() -> None:
    raw: dict[str, Any] = {
        "pools": [{"name": "tcm"}, {"name": "sram"}, {"name": "dram"}],
        "functions": {
            "main": function(call("f", "a ->"), a={"size": 8, "alignment": 6, "pools": ["dram", "sram"]}),
            "f": function(op("p ->"), takes="p", p={"size": 8, "alignment": 4, "pools": ["tcm", "sram"]}),
        },
    }
    (row,) = problem_of(operations_from(raw)).buffers
    assert (row.alignment, row.pools) == (12, ("sram",))
    raw["functions"]["f"]["buffers"][0]["pools"] = ["tcm"]
    with pytest.raises(OperationsError) as caught:
        problem_of(operations_from(raw))
    assert caught.value.sentences == ('main/a: must have a pool that main/0:f allows for "p" (tcm), got dram, sram',)


def test_two_buffers_with_the_same_expanded_name_are_refused() -> None:
    main = function(call("f"), op("-> 0:f/t"))
    main["buffers"] = [{"id": "0:f/t", "size": 1}]
    with pytest.raises(OperationsError, match=r"main/0:f/t: must name a single buffer after"):
        analyse(program(main, f=function(op("-> t"), t=1)))


def test_programs_that_expand_to_too_many_statements_are_refused() -> None:
    doubling = {f"f{k}": function(call(f"f{k + 1}"), call(f"f{k + 1}")) for k in range(60)} | {"f60": function(op())}
    with pytest.raises(
        OperationsError, match=r"^functions: must have at most 1000000 statements and buffers after all calls"
    ):
        analyse(program(function(call("f0")), **doubling))
    chain = {f"f{k}": function(call(f"f{k + 1}"), op("-> t"), t=1) for k in range(300)} | {"f300": function(op())}
    assert len(problem_of(program(function(call("f0")), **chain)).buffers) == 300
    with pytest.raises(OperationsError, match="must call each other less deeply"):
        expand(program(function(call("f0")), **chain), most=5000)


def test_branches_and_loops_may_nest_at_most_one_hundred_deep() -> None:
    def nested_program(depth: int) -> Operations:
        functions = {f"f{k}": function(loop(call(f"f{k + 1}"))) for k in range(depth)}
        return program(function(call("f0")), **functions, **{f"f{depth}": function(op("-> t"), t=1)})

    assert len(problem_of(nested_program(100)).buffers) == 1
    with pytest.raises(
        OperationsError, match=r"must be nested in at most 100 branches and loops, counted across calls$"
    ):
        problem_of(nested_program(101))


ALLOC, FREE = {"alloc": ["a"]}, {"free": ["a"]}
BY_SCOPE = Reading(liveness="scope")


def scope(*body: Statement, **others: Statement) -> tuple[tuple[int, int], ...]:
    (row,) = problem_of(program(function(*body, a=1), **others), BY_SCOPE).buffers
    return row.intervals


@pytest.mark.parametrize(
    ("body", "intervals"),
    [
        ([op(), ALLOC, op(), op("-> a"), op(), FREE, op()], ((1, 5),)),
        # Without an alloc, the scope is the whole program; without a free, it ends with the block.
        ([op(), op("-> a"), op()], ((0, 3),)),
        ([op(), choice([ALLOC, op("-> a"), op()], [op()]), op()], ((1, 4),)),
        ([op(), op("->", ALLOC, op("-> a"), op()), op()], ((1, 4),)),
        ([op(), loop(ALLOC, op("-> a"), op()), op()], ((1, 4),)),
        # A branch that frees the buffer ends its lifetime; in any other branch, it is alive to the end of the branch.
        ([ALLOC, op("-> a"), choice([FREE, op()], [op("a ->"), FREE]), op()], ((0, 2), (4, 5))),
        ([ALLOC, op("-> a"), choice([FREE], []), op()], ((0, 2), (3, 4))),
        ([ALLOC, op("-> a"), FREE, op(), ALLOC, op("-> a"), FREE], ((0, 2), (4, 6))),
    ],
)
def test_a_scope_extends_from_alloc_to_free(body: list[Statement], intervals: tuple[tuple[int, int], ...]) -> None:
    assert scope(*body) == intervals


WRONG = [
    ("a use before", [op("-> a"), ALLOC], "must be allocated when it is used, got main/0"),
    ("a use behind", [ALLOC, FREE, op("-> a")], "must be allocated when it is used, got main/2"),
    ("a second alloc", [ALLOC, ALLOC, op("-> a")], "must be free when it is allocated, got main/1"),
    ("a second free", [ALLOC, op("-> a"), FREE, FREE], "must be allocated when it is freed, got main/3"),
    ("a free without alloc", [FREE, op("-> a")], "must be allocated when it is freed, got main/0"),
    ("an alloc in one branch only", [choice([ALLOC], []), op("-> a")], "must be allocated when it is used, got main/1"),
    ("a free in one branch only", [ALLOC, choice([FREE], []), op("-> a")],
     "must be allocated when it is used, got main/2"),
    ("a free in the next iteration", [ALLOC, loop(op("-> a"), FREE)],
     "must be allocated and freed in the same iteration, got main/1"),
    ("an end inside of an operation that needs it", [ALLOC, op("-> a", op(), FREE)],
     "must be allocated when it is used, got main/1"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "rule"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
@pytest.mark.parametrize("reading", [Reading(), BY_SCOPE], ids=["usage", "scope"])
def test_uses_outside_scopes_are_refused_by_every_reading(body: list[Statement], rule: str, reading: Reading) -> None:
    with pytest.raises(OperationsError) as caught:
        problem_of(program(function(*body, a=1)), reading)
    assert caught.value.sentences == (f"main/a: {rule}",)


class Run:
    """A run of a program that takes random branches and trips, and frees each buffer where the analysis says.

    `freed` tells of each used buffer whether it has been freed since its last use.
    """

    def __init__(self, operations: Operations, chance: random.Random) -> None:
        self.timeline, self.chance = expand(operations), chance
        self.freed: dict[int, bool] = {}
        ids = {row.id: i for i, row in enumerate(self.timeline.variables)}
        self.frees: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for row in analyse(operations).insert_free:
            self.frees[row.where, row.path].append(ids[row.buffer])
        self.marks: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
        for root in self.timeline.families:
            for use in family_uses(self.timeline, root):
                self.marks[use.stretch] += [(root, use.action)] * (use.action not in ("free", "end"))
        inner = self.timeline.activations[1:]
        self.begun = {each.stretch: range(each.first_variable, each.after_variables) for each in inner}
        self.last = {self.timeline.path(k): k for k, row in enumerate(self.timeline.stretches) if row.label != "end"}

    def block(self, block: StatementBlock) -> None:
        parts, at = {part.first: part for part in block.parts}, block.first
        while at < block.after:
            if (part := parts.get(at)) is None:
                for root in self.begun.get(at, ()):  # Each call has new temporaries.
                    self.freed.pop(root, None)
                for root, action in self.marks[at]:
                    assert not self.freed.get(root) or action not in ("read", "update", "hold"), "used after its free"
                    self.freed[root] = False
                if self.last.get(path := self.timeline.path(at)) == at:
                    self.free("after", path)
                at += 1
                continue
            if isinstance(part, Loop):
                for _ in range(self.chance.randint(int(part.surely_runs), 3)):
                    self.block(part.body)
                self.free("after", part.path)
            else:
                k = self.chance.randrange(len(part.branches))
                self.free("start-of", f"{part.path}.{k}")
                self.block(part.branches[k])
            at = part.after

    def free(self, where: str, path: str) -> None:
        for root in self.frees[where, path]:
            assert not self.freed.get(root), f"{self.timeline.variables[root].id} is freed twice, {where} {path}"
            self.freed |= {root: True} if root in self.freed else {}


FREES = {
    "two choices in a loop": function(loop(choice([op("-> a")], []), choice([op("-> a")], [])), a=1),
    "f1_frees of the sixth audit": function(
        loop(choice([], [], [op("a b -> c a")]), choice([choice([], [op("-> c")])], [])), a=4, b=4, c=4
    ),
    "a loop in a loop": function(loop(choice([], [loop(op("-> a"))]), choice([op("a ->")], [])), a=1),
    "a loop that may not run": function(loop(loop(op("-> a"), op("a ->"), choice([op("a ->")], []))), a=1),
    "a call in a loop": function(loop(call("g"))),
    **{name: main for name, (main, _) in CASES.items()},
}
CHOOSES = function(choice([op("-> t")], []), choice([op("t ->")], []), t=1)


@pytest.mark.drawn
def test_no_run_frees_a_buffer_twice_or_uses_it_after_its_free() -> None:
    given = [program(main, f=F, g=CHOOSES, keeps=KEEPS) for main in FREES.values()]
    given += [operations_from(random_program(seed)) for seed in seeds(200)]
    for number, operations in enumerate(given):
        with suppress(OperationsError):
            run = Run(operations, random.Random(number))
            for _ in range(25):
                run.freed = {}
                run.block(run.timeline.whole)


@pytest.mark.drawn
@pytest.mark.slow
def test_the_analysis_and_shadow_execution_agree_with_brute_force() -> None:
    tally: Counter[str] = Counter()
    assert [line for seed in seeds(60) for line in disagreements(seed, tally)] == []
    assert tally["programs"] > 50
    assert tally["clobbered plans"] > 20


@pytest.mark.drawn
def test_lifetimes_by_usage_with_nested_temporaries_have_the_minimum_live_peak() -> None:
    for seed in seeds(50):
        try:
            found = analyse(operations_from(random_program(seed)))
        except OperationsError:
            continue
        assert min(row.lost_bytes for row in found.readings) == 0, seed


def test_a_long_analysis_stops_at_the_time_limit_and_reports_its_progress() -> None:
    looks = iter([False, True])
    with pytest.raises(TimeOverError, match="lifetimes of 10,001 buffers, got time only to find 10,001 lifetimes"):
        analyse(operations_from(statements(10_000)), None, lambda: next(looks))
    with pytest.raises(TimeOverError, match="got time only to lay out 10,000 steps"):
        analyse(operations_from(statements(10_000)), None, lambda: True)
    assert len(analyse(operations_from(statements(9_999)), None, lambda: True).problem.buffers) == 10_000
