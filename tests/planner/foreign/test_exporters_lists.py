"""Exports of placements: triples, ExecuTorch's specs, and memory metadata of TVM's Model Library Format."""

import json
from typing import Any

import pytest

from memplan import solve
from memplan.planner.errors import PlanError
from memplan.planner.foreign.layout import lay_out
from memplan.planner.foreign.writing import export
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from tests.support.layouts import PLACES, TWO_MEMORIES, two_memories


def export_json(target: str) -> Any:
    return json.loads(export(target, two_memories(), "My plan")[""])


def test_exported_triples_follow_the_buffer_order_of_the_problem() -> None:
    assert export_json("triples") == [[row["id"], *PLACES[row["id"]]] for row in TWO_MEMORIES["buffers"]]


def test_executorch_export_numbers_memories_from_one_and_rounds_sizes_up() -> None:
    plan = export_json("executorch")
    assert plan["bufsizes"] == [0, 68, 120, 0]
    assert plan["specs"][2] == {"id": 7, "mem_id": 2, "mem_obj_id": 1, "mem_offset": 16, "size": 100}
    assert [spec["id"] for spec in plan["specs"]] == list(PLACES)


def test_model_library_format_states_the_workspace_size_of_the_main_function() -> None:
    metadata = export_json("mlf")
    memory = metadata["modules"]["my_plan"]["memory"]
    assert metadata["version"] == 7
    assert memory["functions"]["main"][0]["workspace_size_bytes"] == 68 + 116
    assert memory["functions"]["operator_functions"] == []
    assert [pool["allocated_size"] for pool in memory["pools"]] == [68, 116, 0]
    named = {"storage_id": 1, "name": "main_conv_1", "size_bytes": 20}
    assert memory["sids"][1] == named | {"pool_name": "sram-1", "byte_offset": 48}


def test_model_library_format_has_one_workspace_per_device() -> None:
    named = {"host": None, "gpu": "cuda:0", "npu": "ethos", "x": 9}
    pools = [{"name": name, "device": device} for name, device in named.items()]
    rows = [{"id": k, "size": 8 * (k + 1), "start": 0, "end": 2, "pools": [name]} for k, name in enumerate(named)]
    problem = Problem.model_validate({"buffers": rows, "pools": pools})
    memory = json.loads(export("mlf", lay_out(problem, solve(problem)), "m")[""])["modules"]["m"]["memory"]
    of_main = [(each["device"], each["workspace_size_bytes"]) for each in memory["functions"]["main"]]
    assert of_main == [(1, 8), (2, 16), (9, 32), (12, 24)]
    assert [pool["device"] for pool in memory["pools"]] == [1, 2, 12, 9]


def test_export_refuses_a_plan_without_placements() -> None:
    problem = Problem.model_validate(TWO_MEMORIES)
    with pytest.raises(PlanError, match=r"plan\.status: must be optimal or feasible, got unknown"):
        lay_out(problem, Plan(status="unknown"))
