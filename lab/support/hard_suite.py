"""Forty hard problems for the exact search: `python -m lab.ledger hard`.

Of about 200 random problems, these needed the most search nodes. They are MiniMalloc problems and perfect packings of
which a few percent of the buffers were removed or shrunk, and tight problems, whose peak exceeds the lower bound. Eight
more problems choose which buffers to place in a scratchpad (a small fast memory): `python -m lab.ledger scratchpad`.
"""

import random
from pathlib import Path

import numpy as np

from lab.families import pose
from memplan.planner.model.buffer_table import BufferTable
from memplan.planner.model.problem import Problem

FOLDER = Path(__file__).parents[2] / "examples" / "problems" / "minimalloc"
_PEAK = Path(__file__).parents[2] / "library" / "peak" / "problems"
_UNIT = 64
"""The alignment, in bytes, of sizes and offsets in a scratchpad (a small fast memory)."""
GRANULE = 512
"""The number of bytes that divides all sizes in MiniMalloc problems, also after buffers are shrunk."""
SLACK = {"removed": ("1@1", "2@1", "3@1", "5@1"), "shrunk": ("1@1", "2@1", "3@1", "5@1")}
MINIMALLOC = (
    "D",
    "J",
    *(f"{letter} {how} {slack}" for letter in "DJ" for how, slacks in SLACK.items() for slack in slacks),
    *("A shrunk 1@1", "C removed 3@1", "C shrunk 3@1", "C shrunk 5@1", "K removed 1@2"),
    *("K removed 2@1", "K removed 3@2", "K removed 5@1", "K removed 5@2", "K shrunk 5@1"),
)
"""Names of problems: a file's letter, the change to its buffers, and PERCENT@SEED of the changed buffers."""
GENERATED = (
    "perfect:n=300,kind=pinwheel,slack=5.0,by=shrinking,seed=2",
    "perfect:n=300,kind=pinwheel,slack=5.0,by=shrinking,seed=1",
    "perfect:n=300,kind=pinwheel,slack=1.0,by=removal,seed=2",
    "perfect:n=300,kind=guillotine,slack=5.0,by=removal,seed=1",
    "tight:n=30,live=6,seed=2",
    *(f"tight:n=40,live=8,seed={seed}" for seed in range(4)),
    *(f"tight:n=60,live=8,seed={seed}" for seed in range(2)),
    "tight:n=100,live=10,seed=0",
)
STEPS = (
    *("resnet50_b8", "convnext_tiny_b4", "densenet121_b4"),
    *("bertbase_plain_b2_t128", "gpt2medium_plain_t512", "gpt2small_plain_t256"),
)
"""The names of the training steps of the library, which must be unpacked, behind `torch_train-`."""
SCRATCHPADS = (
    *(f"{letter} {percent}" for letter in "ACHK" for percent in (50, 80)),
    *(f"{step} {percent}" for step in STEPS for percent in (20, 50, 80)),
    "resnet50_b8 50 2",
)
"""Names of problems: a MiniMalloc file's letter or a training step, the fast memory in percent of the live peak, and
the number of equal parts into which it is divided, if there are several."""


def scratchpad(name: str) -> Problem:
    """Return a problem of choosing buffers for a fast memory, whose size is a percentage of the live peak.

    Each byte of a buffer in the slow memory costs two to four transfers; in the second part of the fast memory, a
    quarter of these.
    """
    letter, percent, parts = [*name.split(), "1"][:3]
    whole = pose(str(_PEAK / f"torch_train-{letter}.csv")) if letter in STEPS else problem(letter)
    table, rng = whole.buffers, random.Random(1)
    change = np.zeros(int(table.end.max()) + 1, dtype=np.int64)
    np.add.at(change, table.start, table.size)
    np.subtract.at(change, table.end, table.size)
    peak = int(np.cumsum(change).max())
    rows = [
        {"id": str(k), "size": size, "start": start, "end": end, "traffic": rng.randint(2, 4) * size}
        for k, (size, start, end) in enumerate(
            zip(*map(np.ndarray.tolist, (table.size, table.start, table.end)), strict=True)
        )
    ]
    size = peak * int(percent) // 100 // int(parts) // _UNIT * _UNIT
    fast = [{"name": f"fast{k or ''}", "size": size, "cost": k / 4, "alignment": _UNIT} for k in range(int(parts))]
    pools = [*fast, {"name": "slow", "cost": 1.0, "alignment": _UNIT}]
    return Problem.model_validate({"buffers": rows, "pools": pools, "objective": "cost"})


def problem(name: str) -> Problem:
    """Return the problem of this name, which is in `MINIMALLOC` or `GENERATED`."""
    if ":" in name:
        return pose(name)
    letter, _, change = name.partition(" ")
    (file,) = FOLDER.glob(f"{letter}.*.csv")
    whole = pose(str(file))
    return loosen(whole, *change.split()) if change else whole


def loosen(whole: Problem, how: str, slack: str) -> Problem:
    """Return the problem with a percentage of the buffers removed or shrunk; `slack` is PERCENT@SEED."""
    percent, _, seed = slack.partition("@")
    rng, table = np.random.default_rng(int(seed)), whole.buffers
    loose = rng.permutation(len(table))[: round(len(table) * int(percent) / 100)]
    size = np.array(table.size)
    if how == "removed":
        start, end, size = (np.delete(values, loose) for values in (table.start, table.end, size))
    else:
        start, end = table.start, table.end
        smaller = size[loose] * rng.uniform(0.5, 0.95, len(loose))
        size[loose] = np.maximum(GRANULE, smaller.astype(np.int64) // GRANULE * GRANULE)
    return Problem(buffers=BufferTable.from_columns(range(len(size)), size, start, end))
