"""Options that adapt a problem while it is read: weights, pins, reserved ranges, copies and alignments."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import memplan
from lab.weights import faults
from memplan.api.cli.main import main
from memplan.extensions.files.convert.convert import convert
from memplan.extensions.files.convert.options import ConvertOptions
from memplan.planner.model.problem import Problem
from memplan.programs.lifetimes.weights import Weight, weights_of
from memplan.programs.operations.operations import operations_from

CSV = b"id,lower,upper,size\na,0,3,100\nb,2,5,50\nc,4,9,100\n"
Captured = pytest.CaptureFixture[str]


def run_plan(capfd: Captured, *arguments: str, status: int = 0) -> Any:
    assert main(["plan", *arguments, "--format", "json", "--quiet"]) == status
    return json.loads(capfd.readouterr().out)


def offsets(plan: Any) -> dict[str, tuple[str, int]]:
    return {row["id"]: (row["pool"], row["offset"]) for row in plan["placements"]}


@pytest.fixture
def table(tmp_path: Path) -> str:
    (tmp_path / "table.csv").write_bytes(CSV)
    return str(tmp_path / "table.csv")


@pytest.mark.parametrize("seed", range(12))
def test_the_chosen_location_of_weights_reads_the_fewest_bytes_by_brute_force(seed: int) -> None:
    assert [*faults(seed, Counter())] == []


def test_reads_of_weights_are_counted_through_calls_and_loops() -> None:
    rows = [{"id": "w", "size": 8}, {"id": "unread", "size": 4}]
    layer = {"op": "layer", "inputs": ["w"]}
    functions = {
        "main": {"body": [{"loop": [{"call": "part"}], "trips": 3}, {"call": "part"}]},
        "part": {"constants": ["w", "unread"], "buffers": rows, "body": [layer, {"branches": [[layer], []]}]},
        "never": {"constants": ["w"], "buffers": rows[:1], "body": [layer]},
    }
    found = weights_of(operations_from({"functions": functions}))
    assert found == [Weight("part/w", 8, 1, 64), Weight("part/unread", 4, 1, 0)]


def test_a_csv_table_can_be_adapted_by_pins_reserved_ranges_copies_and_alignment(table: str, capfd: Captured) -> None:
    plan = run_plan(capfd, table, "--pin", "b=0x80", "--reserve", "16", "--copies", "a=2", "--alignment", "32")
    found = offsets(plan)
    assert (found["b"], set(found)) == (("default", 128), {"a", "a#2", "b", "c"})
    assert all(offset % 32 == 0 and offset >= 16 for _, offset in found.values())
    # Both copies of a buffer are alive all the time, so they must not overlap others.
    (low, high), c = sorted((found["a"][1], found["a#2"][1])), found["c"][1]
    assert high >= low + 100
    assert all(abs(c - place) >= 100 for place in (low, high))


def test_the_flags_pin_and_reserve_can_name_pools(table: str, capfd: Captured) -> None:
    pools = ["--pool", "fast=256", "--pool", "slow=1KiB"]
    plan = run_plan(capfd, table, *pools, "--pin", "a=slow:64", "--reserve", "fast=100@0", "--reserve", "fast=56@200")
    found = offsets(plan)
    assert found["a"] == ("slow", 64)
    assert {name for name, (pool, _) in found.items() if pool == "fast"} == {"b"} or found["c"] == ("fast", 100)
    assert all(100 <= offset <= 100 + 100 for pool, offset in found.values() if pool == "fast")


def test_every_entrance_adapts_a_problem_by_options_in_the_same_way(table: str) -> None:
    options: dict[str, Any] = {"pin": ("b=128",), "reserve": ("16",), "copies": ("a=2",), "alignment": 32}
    expected = memplan.read_problem(table, **options)
    assert convert(CSV, None, ConvertOptions(name="table.csv", **options)).problem == expected


def test_verify_again_repeats_a_plan_of_an_adapted_file(table: str, tmp_path: Path, capfd: Captured) -> None:
    made = str(tmp_path / "plan.json")
    options = ["--pin", "b=128", "--copies", "a=2", "--alignment", "32", "--deterministic"]
    assert main(["plan", table, *options, "-o", made]) == 0
    assert main(["verify", table, made, *options[:-1], "--again", "-q"]) == 0
    assert json.loads(capfd.readouterr().out)["again"]["same"] == "bytes"
    assert isinstance(memplan.read_problem(table, alignment=32), Problem)


@pytest.mark.parametrize(
    ("edges", "conflicts", "pairs"),
    [
        (["a,b"], [], [("a", "b")]),
        (["b,c"], [], [("b", "c")]),
        (["a,b", "b,c"], [["a", "b"], ["b", "c"]], [("a", "c")]),
        (["b,a"], [], None),
        (["c,b", "b,a"], [], None),
    ],
)
def test_the_option_order_allows_reuse_of_bytes_only_along_its_edges(
    edges: list[str], conflicts: list[list[str]], pairs: list[tuple[str, str]] | None
) -> None:
    rows = [{"id": name, "size": 4, "start": k, "end": k + 1} for k, name in enumerate("abc")]
    for priced in ({"reuse": [{"pairs": [["a", "b"], ["a", "c"], ["b", "c"]], "cost": 1}], "objective": "cost"}, {}):
        data = {"buffers": rows, "pools": [{"name": "ub", "size": 8}], "conflicts": conflicts, **priced}
        plan = memplan.solve(memplan.read_problem(json.dumps(data).encode(), order=edges))
        assert plan.status == ("infeasible" if pairs is None else "optimal")
        if pairs is not None and priced:
            assert [(row.first, row.then) for row in plan.reused] == pairs
