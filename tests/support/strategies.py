"""Hypothesis strategies of small problems with every feature of the wire format, and of placements for them."""

from typing import Any

from hypothesis import strategies as st

from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Placement
from tests.support.tied_problems import draw_tied_problem

SIZES = st.sampled_from((0, 1, 2, 2, 3, 3, 4, 5, 6, 8, 8, 12))
ALIGNMENTS = st.sampled_from((1, 1, 1, 1, 2, 3, 4, 6, 8))
TIMES = st.integers(0, 6)
UNITS = st.sampled_from((1, 1, 1, 2, 3, 64))


@st.composite
def intervals(draw: st.DrawFn) -> list[int]:
    start = draw(TIMES)
    return [start, start + draw(st.integers(1, 4))]


@st.composite
def pools(draw: st.DrawFn, name: str, unit: int, roomy: bool = False) -> dict[str, Any]:
    """Draw a pool; a `roomy` pool has no size."""
    row: dict[str, Any] = {"name": name}
    if not roomy and draw(st.booleans()):
        row["size"] = unit * draw(st.integers(0, 24)) + draw(st.sampled_from((0, 0, 1)))
    if draw(st.booleans()):
        row["alignment"] = draw(ALIGNMENTS)
        row["base_address"], row["device"] = draw(st.integers(0, 12)), name
    if draw(st.integers(0, 3)) == 0:
        ranges = st.tuples(st.integers(0, 16), st.integers(0, 5))
        row["reserved"] = [[unit * low, unit * width] for low, width in draw(st.lists(ranges, max_size=2))]
    if draw(st.booleans()):
        row["cost"] = draw(st.sampled_from((0, 1, 2.5)))
    return row


@st.composite
def buffers(draw: st.DrawFn, k: int, unit: int, pool_names: list[str]) -> dict[str, Any]:
    """Draw buffer `k`, which is not an alias."""
    row: dict[str, Any] = {"id": draw(st.sampled_from((k, f"b{k}"))), "size": unit * draw(SIZES)}
    kind = draw(st.sampled_from(("one", "one", "one", "holes", "none")))
    if kind == "one":
        row["start"], row["end"] = draw(intervals())
    elif kind == "holes":
        row["lifetimes"] = draw(st.lists(intervals(), min_size=1, max_size=3))
    row["alignment"] = draw(st.sampled_from((1, unit))) * draw(ALIGNMENTS)
    if draw(st.integers(0, 3)) == 0:
        row["pools"] = draw(st.lists(st.sampled_from(pool_names), min_size=1, unique=True))
    if draw(st.integers(0, 5)) == 0:
        row["offset"] = unit * draw(st.integers(0, 12))
        row["pools"] = [draw(st.sampled_from(pool_names))]
    for name in ("traffic", "hint"):
        if draw(st.integers(0, 4)) == 0:
            row[name] = draw(st.integers(0, 20))
    return row


@st.composite
def aliases(draw: st.DrawFn, k: int, inside: dict[str, Any]) -> dict[str, Any]:
    """Draw buffer `k`, an alias inside another one."""
    size = draw(st.integers(0, inside["size"]))
    row: dict[str, Any] = {"id": f"a{k}", "size": size, "alias_of": inside["id"]}
    row["alias_offset"] = draw(st.integers(0, inside["size"] - size))
    if draw(st.booleans()):
        row["start"], row["end"] = draw(intervals())
    if draw(st.integers(0, 3)) == 0:
        row["alignment"] = draw(ALIGNMENTS)
    if draw(st.integers(0, 6)) == 0 and "offset" in inside:
        row["offset"] = inside["offset"] + row["alias_offset"]
        row["pools"] = inside["pools"]
    return row


@st.composite
def raw_problems(draw: st.DrawFn, most: int = 5, roomy: bool = False) -> dict[str, Any]:
    """Draw a problem as JSON, with at most `most` buffers; in a `roomy` one, every buffer without a pin fits."""
    unit = draw(UNITS)
    pool_names = draw(st.sampled_from((["one"], ["one"], ["fast", "slow"])))
    rows: list[dict[str, Any]] = []
    family: list[int] = []
    for k in range(draw(st.integers(0, most))):
        if rows and draw(st.integers(0, 5)) == 0:
            inside = draw(st.integers(0, k - 1))
            rows.append(draw(aliases(k, rows[inside])))
            family.append(family[inside])
        else:
            rows.append(draw(buffers(k, unit, pool_names)))
            family.append(k)
    data: dict[str, Any] = {
        "buffers": rows,
        "pools": [draw(pools(name, unit, roomy)) for name in pool_names],
        "objective": draw(st.sampled_from(("peak", "peak", "cost", "fit"))),
    }
    if rows:
        drawn = draw(st.lists(st.tuples(st.integers(0, len(rows) - 1), st.integers(0, len(rows) - 1)), max_size=4))
        data["conflicts"] = [[rows[i]["id"], rows[j]["id"]] for i, j in drawn if i == j or family[i] != family[j]]
    return data


def problems(most: int = 5, roomy: bool = False) -> st.SearchStrategy[Problem]:
    return raw_problems(most, roomy).map(Problem.model_validate)


def tied_problems(most: int = 5) -> st.SearchStrategy[Problem]:
    """Return the strategy of valid problems that mix groups, sharing, pages, remainders, banks and colocation."""
    return st.randoms(use_true_random=False).map(lambda rng: draw_tied_problem(rng, most))


@st.composite
def placements(draw: st.DrawFn, problem: Problem) -> list[Placement]:
    """Draw placements, most of them plausible, some of them wrong, missing or repeated."""
    rows: list[Placement] = []
    corners = {0}
    for buffer in problem.buffers:
        names = buffer.pools or tuple(pool.name for pool in problem.pools)
        offset = draw(st.sampled_from(sorted(corners)) | st.integers(0, 40))
        if buffer.offset is not None and draw(st.integers(0, 3)):
            offset = buffer.offset
        rows.append(Placement(id=buffer.id, pool=draw(st.sampled_from(names)), offset=offset))
        corners.add(offset + buffer.size)
    trouble = draw(st.integers(0, 9))
    if trouble == 0 and rows:
        rows.pop(draw(st.integers(0, len(rows) - 1)))
    elif trouble == 1 and rows:
        rows.append(draw(st.sampled_from(rows)))
    elif trouble == 2:
        rows.append(Placement(id="stranger", pool=problem.pools[0].name, offset=0))
    elif trouble == 3 and rows:
        rows[0] = Placement(id=rows[0].id, pool="elsewhere", offset=0)
    return draw(st.permutations(rows)) if trouble == 4 else rows
