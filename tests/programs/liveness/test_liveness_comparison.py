"""Comparison of planned peaks for each reading of lifetimes, and for plans function by function."""

import threading

import pytest

from memplan.programs.lifetimes import Reading
from memplan.programs.liveness import liveness as comparing
from memplan.programs.liveness.liveness import PlannedPeak, compare_readings
from memplan.programs.operations.operations import Operations, operations_from
from memplan.solvers.search.control import Control
from tests.support.programs import call, function, op, program

F = function(op("p -> t"), op("t ->"), op("-> u"), op("u -> q"), takes="p", gives="q", p=10, q=10, t=100, u=80)
MAIN = function(call("f", "x -> a"), call("f", "a -> y"), takes="x", gives="y", x=10, a=10, y=10)


def compare_peaks(operations: Operations, reading: Reading = Reading()) -> tuple[PlannedPeak, ...]:
    return compare_readings(operations, reading, Control.from_limit(10))


def test_compare_readings_returns_the_peak_of_each_variant() -> None:
    assert [
        (row.liveness, row.temporaries, row.planning, row.peak, row.lost_bytes)
        for row in compare_peaks(program(MAIN, f=F))
    ] == [
        ("usage", "nested", "global", 110, 0),
        ("scope", "nested", "global", 210, 100),
        ("usage", "lifted", "global", 200, 90),
        ("scope", "lifted", "global", 210, 100),
        ("usage", "nested", "local", 120, 10),
    ]


def test_local_plans_of_nested_calls_start_with_callees_and_keep_alignments() -> None:
    main = function(op("-> b"), call("g"), op("b ->"), b=1)
    g = function(op("-> a"), call("h"), op("a ->"), a=3)
    h = function(op("-> t"), op("t ->"), t={"size": 5, "alignment": 16})
    raw = {"pools": [{"name": "sram", "reserved": [[0, 1]]}], "functions": {"main": main, "g": g, "h": h}}
    found = compare_peaks(operations_from(raw))
    assert found[0].peak == 21  # t is at offset 16, all other buffers are below it
    assert found[-1].peak == 24  # the workspace of a call of g has 8 bytes at offset 16


def test_compare_readings_keeps_the_sizes_of_pools() -> None:
    raw = {"pools": [{"name": "sram", "size": 150}], "functions": {"main": MAIN, "f": F}}
    rows = [(row.status, row.peak, row.lost_bytes) for row in compare_peaks(operations_from(raw))]
    assert rows == [("optimal", 110, 0), *[("infeasible", None, None)] * 3, ("optimal", 120, 10)]


def test_functions_with_persistent_buffers_have_no_local_plan() -> None:
    f = function(op("s ->"), s={"size": 4, "persistent": True})
    assert [row.planning for row in compare_peaks(program(function(call("f")), f=f))] == ["global"] * 4


def test_a_comparison_creates_no_problems_if_no_time_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    over, made = threading.Event(), list[object]()
    over.set()
    monkeypatch.setattr(comparing, "problem_of_timeline", lambda *arguments, **_: made.append(arguments))
    found = compare_readings(program(MAIN, f=F), Reading(), Control(cancelled=over))
    assert made == []
    assert [(row.status, row.peak) for row in found] == [("unknown", None)] * 5
