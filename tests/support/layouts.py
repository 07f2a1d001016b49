"""Layouts for exporters: two memories whose names are invalid in C, and layouts made from rows."""

from typing import Any

from memplan.planner.foreign.layout import VerifiedLayout, lay_out
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem

TWO_MEMORIES: dict[str, Any] = {
    "name": "a */ b",
    "buffers": [
        {"id": "main/conv 1", "size": 48, "start": 0, "end": 2, "alignment": 16},
        {"id": "main_conv_1", "size": 20, "start": 1, "end": 4},
        {"id": 7, "size": 100, "start": 1, "end": 4, "alignment": 32},
        {"id": "7", "size": 0, "start": 1, "end": 4},
        {"id": "view", "size": 4, "start": 3, "end": 5, "alias_of": 7, "alias_offset": 16},
        {"id": "ünë", "size": 30, "start": 5, "end": 6},
    ],
    "pools": [
        {"name": "sram-1", "size": 4096, "alignment": 4, "base_address": 0x20000000},
        {"name": "int", "base_address": 0x30000010, "alignment": 8},
        {"name": "unused"},
    ],
}
PLACES = {
    "main/conv 1": ("sram-1", 0),
    "main_conv_1": ("sram-1", 48),
    7: ("int", 16),
    "7": ("int", 0),
    "view": ("int", 32),
    "ünë": ("sram-1", 4),
}
NAMES = {"main/conv 1": "main_conv_1_2", "main_conv_1": "main_conv_1", 7: "7_2", "7": "7", "view": "view", "ünë": "_n_"}


def layout_of(
    problem: dict[str, Any], places: dict[Any, tuple[str, int]], model: bytes | None = None
) -> VerifiedLayout:
    placements = [{"id": name, "pool": pool, "offset": offset} for name, (pool, offset) in places.items()]
    return lay_out(Problem.model_validate(problem), Plan.model_validate({"placements": placements}), model)


def two_memories() -> VerifiedLayout:
    return layout_of(TWO_MEMORIES, PLACES)


def two_memories_anywhere() -> VerifiedLayout:
    pools = [{"name": "sram-1"}, {"name": "int"}]
    return layout_of(TWO_MEMORIES | {"pools": pools}, {**PLACES, 7: ("int", 0), "view": ("int", 16)})


def single_pool_layout(*rows: dict[str, Any], **pool: Any) -> VerifiedLayout:
    """Return a layout in one pool of buffers that are never alive together, each at its pinned offset or 0."""
    buffers = [{"id": k, "size": 64, "start": k, "end": k + 1, **row} for k, row in enumerate(rows)]
    problem = {"buffers": buffers, "pools": [{"name": "p", **pool}]}
    return layout_of(problem, {row["id"]: ("p", row.get("offset", 0)) for row in buffers})
