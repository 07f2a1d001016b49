"""The problems in TVM's own tests of its memory planners.

Sizes, conflicts and lifetimes are those of apache/tvm, tests/python/tir-usmp/test_tir_usmp_algo.py (v0.16.0, v0.9.0).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from memplan.planner.model.problem import Problem

FAST_AND_SLOW: Sequence[Mapping[str, Any]] = [{"name": "fast", "size": 200_704}, {"name": "slow"}]

LINEAR = {"a": 10, "b": 20, "c": 100, "d": 40, "e": 50, "f": 50}
LINEAR_CONFLICTS = {"a": "b", "b": "ac", "c": "bd", "d": "ce", "e": "df", "f": "e"}

FAN_OUT = {"a": 10, "b": 20, "c": 100, "d": 40, "e": 50, "f": 60, "g": 70}
FAN_OUT_CONFLICTS = {"a": "bc", "b": "ace", "c": "eabd", "d": "bfce", "e": "cfbd", "f": "def", "g": "f"}
"""As TVM prints them: e and f conflict both ways, but e does not list b's c, f lists itself, and f does not list g."""
FAN_OUT_LIVES = {"a": (0, 3), "b": (1, 4), "c": (2, 5), "d": (3, 6), "e": (4, 6), "f": (5, 7), "g": (6, 7)}
"""The lifetimes of the buffers if the operations A to G run one after another."""

MOBILENET = (
    ("sid_9", 301_056, 0, 2),
    ("sid_8", 802_816, 2, 4),
    ("PaddedInput_7", 314_646, 1, 3),
    ("Conv2dOutput_7", 256, 2, 3),
    ("tensor_2", 200_704, 3, 4),
)
MOBILENET_BY_CALLS = (
    ("sid_9", 301_056, 0, 2),
    ("sid_8", 802_816, 1, 3),
    ("temporaries of conv2d", 314_646 + 256, 1, 2),
    ("temporaries of max_pool2d", 200_704, 2, 3),
)
"""The lifetimes if each function plans its temporaries separately, so that the caller sees only whole calls."""
RESNET = (
    ("sid_2", 720_000, 0, 8),
    ("sid_6", 5_760_000, 6, 9),
    ("sid_7", 720_000, 4, 6),
    ("sid_8", 720_000, 2, 4),
    ("PaddedInput", 720_000, 1, 3),
    ("Conv2dOutput", 256, 2, 3),
    ("PaddedInput_1", 758_912, 3, 5),
    ("Conv2dOutput_1", 256, 4, 5),
    ("PaddedInput_2", 720_000, 5, 7),
    ("Conv2dOutput_2", 256, 6, 7),
    ("PaddedInput_3", 720_000, 7, 9),
    ("Conv2dOutput_3", 256, 8, 9),
)


def problem_of_conflicts(
    sizes: Mapping[str, int], conflicts: Mapping[str, Sequence[str]], capacity: int | None = None
) -> Problem:
    """Return a problem given by sizes and conflict lists alone; each listed conflict is symmetric."""
    pairs = [(one, other) for one, listed in conflicts.items() for other in listed if one != other]
    buffers = [{"id": name, "size": size} for name, size in sizes.items()]
    return Problem.model_validate({"buffers": buffers, "conflicts": pairs, "pools": [{"size": capacity}]})


def problem_of_lives(
    rows: Sequence[tuple[str, int, int, int]], pools: Sequence[Mapping[str, Any]] = (), alignment: int = 1
) -> Problem:
    """Return a problem of buffers (name, size, start, end) with one alignment."""
    keys = ("id", "size", "start", "end")
    buffers = [dict(zip(keys, row, strict=True)) | {"alignment": alignment} for row in rows]
    return Problem.model_validate({"buffers": buffers, "pools": list(pools)})
