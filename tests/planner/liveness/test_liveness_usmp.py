"""Programs that TVM's USMP is tested on (v0.16.0, test_tir_usmp_analysis_extract_bufferinfo.py), with its figures."""

from __future__ import annotations

from itertools import combinations

from memplan.planner.liveness import Reading, analyse, problem_of
from memplan.planner.model.problem import Problem
from memplan.planner.operations.operations import Operations
from tests.support.programs import call, function, loop, op, program

NOT_THE_CALLERS = Reading(plan_inputs=False, plan_outputs=False)


def conflicts(problem: Problem) -> set[frozenset[str]]:
    """Return the pairs that are alive together, by the last parts of their names."""
    return {
        frozenset(str(row.id).rsplit("/", 1)[-1] for row in (a, b))
        for a, b in combinations(problem.buffers, 2)
        if any(low < end and start < high for low, high in a.intervals for start, end in b.intervals)
    }


def mobilenet() -> Operations:
    """Cast and subtract, a convolution over a padded input, a pooling: each in loops over its output."""
    subtract = function(loop(op("image -> result")), takes="image", gives="result", image=150528, result=301056)
    convolve = function(
        loop(op("data -> padded")),
        loop(loop(op("-> sums"), loop(op("sums padded -> sums"))), loop(op("sums -> result"))),
        takes="data",
        gives="result",
        data=301056,
        padded=314646,
        sums=256,
        result=802816,
    )
    pool = function(
        loop(loop(loop(op("-> tensor")), loop(op("data tensor -> tensor")))),
        loop(op("tensor -> result")),
        takes="data",
        gives="result",
        data=802816,
        tensor=200704,
        result=401408,
    )
    main = function(
        call("subtract", "input -> sid_9"),
        call("convolve", "sid_9 -> sid_8"),
        call("pool", "sid_8 -> output"),
        takes="input",
        gives="output",
        input=150528,
        sid_9=301056,
        sid_8=802816,
        output=401408,
    )
    return program(main, subtract=subtract, convolve=convolve, pool=pool)


def test_the_mobilenet_subgraph_needs_what_usmp_says() -> None:
    assert analyse(mobilenet(), NOT_THE_CALLERS).workspace.live_bytes == 1_117_718
    lifted = Reading(plan_inputs=False, plan_outputs=False, temporaries="lifted")
    assert analyse(mobilenet(), lifted).workspace.live_bytes == 1_117_718 + 301_056
    assert conflicts(problem_of(mobilenet(), NOT_THE_CALLERS)) == {
        frozenset(pair.split())
        for pair in ("padded sid_9", "padded sid_8", "padded sums", "sid_8 sums", "sid_8 tensor")
    }


def test_what_is_allocated_in_a_loop_and_never_used_needs_nothing() -> None:
    convolve = function(
        loop(op("data -> padded")),
        loop({"alloc": ["dummy"]}, loop({"alloc": ["sums"]}, loop(op("-> sums"), loop(op("sums padded -> sums"))))),
        takes="data",
        data=401408,
        padded=430592,
        dummy=4,
        sums=256,
    )
    found = analyse(
        program(function(call("convolve", "x ->"), takes="x", x=401408), convolve=convolve), NOT_THE_CALLERS
    )
    assert (found.workspace.live_bytes, found.unused) == (430_848, ("main/0:convolve/dummy",))
