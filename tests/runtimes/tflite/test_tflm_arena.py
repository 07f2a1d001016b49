"""TFLite Micro's greedy planner, and the head of its arena, compared with the runtime."""

import re
import struct
from pathlib import Path
from typing import Any

import pytest

from memplan.extensions.files.compare.compare import CompareOptions, compare, lines
from memplan.planner.errors import FormatError, OptionError
from memplan.planner.foreign.layout import lay_out
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import read_model
from memplan.planner.foreign.writing import export
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem, replace_fields
from memplan.planner.verify.verifier import verify
from memplan.runtimes.tflite.model import read_model as read_tensors
from memplan.runtimes.tflite.tflm_arena import arena_head, scratch_of_model
from memplan.solvers.portfolio.solve import solve
from tests.runtimes.tflite_files import INT8, INT32, model, operator, subgraph, tensor
from tests.support.dump_files import MEMORIES

MODELS = Path(__file__).parents[3] / "tests" / "models"
AVERAGES = model(
    subgraph(
        [
            tensor("x", (1, 6, 6, 8), INT8),
            tensor("axes", (2,), INT32, constant=True),
            tensor("wide", (1, 6, 6, 8), INT8),
            tensor("y", (1, 8), INT8),
        ],
        [0],
        [3],
        [operator("ADD", [0, 0], [2]), operator("MEAN", [2, 1], [3])],
    )
)
CUSTOM = model(subgraph([tensor("x", (4,)), tensor("y", (4,))], [0], [1], [operator("CUSTOM", [0], [1])]))


def test_scratch_of_known_kernels_is_alive_while_they_run() -> None:
    scratch = scratch_of_model(read_tensors(AVERAGES))[0]
    assert [(row.operator, row.size) for row in scratch] == [(1, 32), (1, 16), (1, 8)]
    problem = read_model(AVERAGES).problem
    scratch = [row for row in problem.buffers if str(row.id).startswith("main/#scratch/0/1/")]
    assert [row.size for row in scratch] == [32, 16, 16]
    result = next(row for row in problem.buffers if row.id == "main/y")
    assert {(row.start, row.end) for row in scratch} == {(result.start, (result.start or 0) + 1)}


def test_an_exported_plan_leaves_space_for_the_given_scratch() -> None:
    said = ModelOptions(scratch={"CUSTOM": 64})
    problem = read_model(CUSTOM, options=said).problem
    planned = export("tflite", lay_out(problem, solve(problem), CUSTOM, said), "model")[""]
    assert read_model(planned, options=said).own_peak == 96


def test_a_plan_is_reported_with_the_scratch_that_the_device_adds() -> None:
    found = read_model(AVERAGES)
    plan = solve(found.problem)
    planned = export("tflite", lay_out(found.problem, plan, AVERAGES), "model")[""]
    offsets = [row.offset for row in plan.placements if "#scratch/" not in str(row.id)]
    assert offsets
    again = read_model(planned)
    assert again.own_peak == plan.peak == arena_head(read_tensors(AVERAGES)).size
    assert again.own_plan is not None


def test_unknown_scratch_is_reported_and_no_plan_is_exported() -> None:
    found = read_model(CUSTOM)
    assert any("is not known: the arena may become larger" in warning.message for warning in found.warnings)
    with pytest.raises(FormatError, match=r"^model: must have kernels whose scratch is known .*, got CUSTOM"):
        export("tflite", lay_out(found.problem, solve(found.problem), CUSTOM), "model")


def test_compare_reports_no_saving_if_the_scratch_of_a_kernel_is_unknown() -> None:
    found = compare(CUSTOM, CompareOptions(time_limit_s=1))
    assert (found.saved, found.saved_percent, found.memplan_reordered) == (None, None, None)
    saved, warning = [*lines(found)][-2:]
    assert saved.split() == ["saved", "-"]
    assert "the scratch of the kernels of CUSTOM is not known: the arena may become larger" in warning
    assert compare(AVERAGES, CompareOptions(time_limit_s=1)).saved == 0


def test_a_plan_that_makes_the_arena_larger_is_refused() -> None:
    problem = read_model(AVERAGES).problem
    stacked, end = {}, 0
    for row in problem.buffers:
        stacked[row.id] = ("default", end)
        end += row.size
    placements = [{"id": name, "pool": pool, "offset": offset} for name, (pool, offset) in stacked.items()]
    high = lay_out(problem, Plan(placements=placements), AVERAGES)
    with pytest.raises(FormatError, match=r"^plan: must not take a larger arena than TFLite Micro's own planner"):
        export("tflite", high, "model")
    read = replace_fields(problem, read_with={"weights": "ram"})
    with pytest.raises(FormatError, match=r"or plan it without weights$"):
        export("tflite", lay_out(read, Plan.model_validate({"placements": placements}), AVERAGES), "model")


@pytest.mark.parametrize("name", ["view.tflite", "loop.tflite", "choice.tflite", "recorded/kws_dscnn_int8.tflite"])
def test_the_computed_arena_of_a_plan_equals_that_of_the_runtime(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    runtime = pytest.importorskip("tflite_micro", reason="needs tflite_micro").runtime
    data = (MODELS / name).read_bytes()
    problem = read_model(data).problem
    planned = export("tflite", lay_out(problem, solve(problem), data), "model")[""]
    runtime.Interpreter.from_bytes(planned, arena_size=1 << 20).print_allocations()
    (head,) = map(int, re.findall(r"Arena allocation head (\d+)", "".join(capfd.readouterr())))
    found = read_tensors(planned)
    offsets = struct.unpack(f"<{len(found.tensors)}i", found.metadata["OfflineMemoryAllocation"][12:])
    assert head == arena_head(found, offsets).size


def test_given_scratch_is_planned_and_the_saving_reported() -> None:
    options = ModelOptions(scratch={"CUSTOM": 5000})
    found = read_model(CUSTOM, None, options)
    assert not found.has_unknown_scratch
    scratch = [(row.id, row.size) for row in found.problem.buffers if "scratch" in str(row.id)]
    assert scratch == [("main/#scratch/0/0/0", 5008)]
    assert compare(CUSTOM, CompareOptions(scratch={"CUSTOM": 5000}, time_limit_s=1)).saved is not None
    with pytest.raises(OptionError, match=r'scratch: must name operators of the model \(.*\), got "OTHER"'):
        read_model(CUSTOM, None, ModelOptions(scratch={"OTHER": 1}))
    with pytest.raises(
        OptionError,
        match=r"scratch: applies only to files of ExecuTorch programs, ONNX, .*, got .* for a file of cadence",
    ):
        read_model(MEMORIES, None, options)


# (size, first use, last use) of the model of the person detection example, in TFLite Micro's own test.
PERSON_DETECTION = (
    (9216, 0, 29), (3, 28, 29), (256, 27, 28), (2304, 26, 27), (2304, 25, 26), (2304, 24, 25), (1152, 23, 24),
    (4608, 22, 23), (4608, 21, 22), (4608, 20, 21), (4608, 19, 20), (4608, 18, 19), (4608, 17, 18), (4608, 16, 17),
    (4608, 15, 16), (4608, 14, 15), (4608, 13, 14), (4608, 12, 13), (2304, 11, 12), (9216, 10, 11), (9216, 9, 10),
    (9216, 8, 9), (4608, 7, 8), (18432, 6, 7), (18432, 5, 6), (18432, 4, 5), (9216, 3, 4), (36864, 2, 3),
    (18432, 1, 2), (18432, 0, 1),
)  # fmt: skip


def problem(*uses: tuple[int, int, int], alignment: int = 1, **pinned: int) -> Problem:
    """Return buffers b0, b1, ... of (size, first use, last use); `pinned` ones have an offset."""
    rows: list[dict[str, Any]] = [
        {"id": f"b{i}", "size": size, "start": first, "end": last + 1} for i, (size, first, last) in enumerate(uses)
    ]
    for row in rows:
        row |= {"offset": pinned[row["id"]]} if row["id"] in pinned else {}
    return Problem(buffers=rows, pools=[{"alignment": alignment}])


GREEDY = {
    "buffers without a conflict are at offset 0": ([(10, 0, 1), (20, 2, 3)], [0, 0]),
    "a gap that is too small is skipped": ([(100, 0, 1), (50, 2, 3), (20, 1, 2)], [0, 0, 100]),
    "the last added of equal buffers is first": ([(8, 0, 1), (8, 0, 1), (8, 0, 1)], [16, 8, 0]),
    "the largest is first and gaps are filled": (
        [(10, 0, 1), (20, 1, 2), (30, 2, 3), (40, 3, 4), (50, 0, 1)],
        [50, 70, 40, 0, 0],
    ),
}


def greedy_offsets(wanted: Problem) -> list[int]:
    return [row.offset for row in solve(wanted, solver="reference:tflite-micro-greedy").placements]


@pytest.mark.parametrize("rule", GREEDY)
def test_the_greedy_planner_follows_each_rule_of_tflite_micro(rule: str) -> None:
    uses, offsets = GREEDY[rule]
    assert greedy_offsets(problem(*uses)) == offsets


def test_the_greedy_planner_rounds_sizes_up_first_and_keeps_offline_planned_offsets() -> None:
    assert greedy_offsets(problem((16, 0, 1), (1, 0, 1), (17, 0, 1), alignment=16)) == [48, 32, 0]
    assert greedy_offsets(problem((4, 0, 1), (10, 0, 1), (6, 0, 1), b0=8)) == [8, 12, 0]


def test_greedy_planner_returns_no_plan_if_offline_offsets_overlap() -> None:
    plan = solve(problem((4, 0, 2), (4, 1, 3), b0=0, b1=2), solver="reference:tflite-micro-greedy")
    assert plan.status in ("unknown", "infeasible")
    assert plan.explanation is not None


def test_the_plan_of_the_person_detection_model_reaches_its_lower_bound() -> None:
    wanted = problem(*PERSON_DETECTION, alignment=16)
    plan = solve(wanted, solver="reference:tflite-micro-greedy")
    assert verify(wanted, plan) == ()
    assert (plan.status, plan.peak) == ("optimal", 36864 + 18432 + 9216)
