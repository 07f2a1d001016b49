"""Problems whose sizes are expressions, drawn from a seed."""

import random
from itertools import product
from typing import Any

from memplan.programs.symbols.problem import SymbolicProblem
from memplan.programs.symbols.space import Values


def draw_size(draw: random.Random, names: list[str]) -> str:
    """Return a random expression over symbols: products, squares, floors, alignments, maxima and minima."""
    x, y, c = draw.choice(names), draw.choice(names), draw.choice([1, 2, 4, 12, 48, 100, 768])
    return draw.choice(
        [
            f"{c}*{x}",
            f"{c}*{x}*{y}",
            f"{c}*{x}**2",
            f"{c * 64}",
            f"{c}*{x} + {draw.randint(0, 4096)}",
            f"{c}*(({x} + {draw.randint(0, 3)})//{draw.choice([2, 3, 4])})",
            f"{c}*(({x} - 1)//2 + 1)*(({y} - 1)//2 + 1)",
            f"align({c}*{x}, {draw.choice([16, 64, 256])})",
            f"ceil_div({x}, {draw.choice([3, 8])})*{y}",
            f"max({c}*{x}, 4*{y})",
            f"min({c}*{x}*{y}, {draw.randint(1, 9000)})",
            f"{c}*({x} % 4) + {y}",
        ]
    )


def draw_symbols(draw: random.Random, most: int = 3) -> dict[str, Any]:
    """Return one to three random symbols, some with few values and some with many."""
    names = ["n", "m", "h"][: draw.randint(1, most)]
    is_small = draw.random() < 0.5
    symbols = {}
    for name in names:
        step = draw.choice([1, 1, 1, 2, 4, 8])
        low = draw.randint(1, 6)
        more = draw.randint(1, max(1, 30 // len(names) ** 2)) if is_small else draw.choice([10, 100, 1000, 4096])
        symbols[name] = {"min": low * step, "max": (low + more) * step, "multiple_of": step}
    return symbols


def draw_problem(seed: int, most_buffers: int = 40) -> SymbolicProblem:
    """Return the random symbolic problem of a seed."""
    draw = random.Random(seed)
    symbols = draw_symbols(draw)
    sizes = [draw_size(draw, list(symbols)) for _ in range(draw.randint(2, 9))]
    length = draw.randint(4, 40)
    buffers = []
    for i in range(draw.randint(4, most_buffers)):
        start = draw.randrange(length)
        end = start + draw.choice([1, 2, 2, 3, 4, draw.randint(1, length)])
        buffers.append({"id": f"b{i}", "size": draw.choice(sizes), "start": start, "end": end})
    alignment = draw.choice([1, 1, 16, 64])
    return SymbolicProblem.model_validate({"symbols": symbols, "alignment": alignment, "buffers": buffers})


def values_of_all_symbols(problem: SymbolicProblem, most: int = 4000) -> list[Values] | None:
    """Return all combinations of symbol values; None if there are more than `most`."""
    axes = [range(each.min, (each.max or 0) + 1, each.multiple_of) for each in problem.symbols.values()]
    count = 1
    for axis in axes:
        count *= len(axis)
    return [dict(zip(problem.symbols, row, strict=True)) for row in product(*axes)] if count <= most else None


def demand_at(problem: SymbolicProblem, sizes: list[int]) -> int:
    """Return the peak live bytes at the given sizes, by scanning all times."""
    times = {buffer.start for buffer in problem.buffers}
    rows = list(zip(problem.buffers, sizes, strict=True))
    return max(sum(size for row, size in rows if row.start <= time < row.end) for time in times)


def draw_ruled_problem(seed: int) -> dict[str, Any]:
    """Return a random problem of a few buffers with pins, aliases and conflicts, as JSON; some break a rule."""
    draw = random.Random(seed)
    alignment = draw.choice([1, 1, 2])
    symbols = {"n": {"min": draw.randint(0, 2), "max": draw.randint(3, 6)}}
    symbols |= {"m": {"min": 1, "max": 3}} if draw.random() < 0.4 else {}
    sizes = [str(draw.randint(0, 8)), "n", "2*n", "3*n", "n*n", "n+4", *(["m*n", "4*m"] if "m" in symbols else [])]
    rows: list[dict[str, Any]] = []
    for i in range(draw.randint(2, 6)):
        start = draw.randint(0, 5)
        row = {"id": f"b{i}", "size": draw.choice(sizes), "start": start, "end": start + draw.randint(1, 3)}
        chance = draw.random()
        if i and chance < 0.25:
            row |= {"alias_of": f"b{draw.randrange(i)}", "size": draw.choice([0, 1, "n", row["size"]])}
            row |= {"alias_offset": draw.choice([0, alignment, f"{alignment}*n"])}
        elif chance < 0.45:
            row |= {"offset": draw.choice([0, alignment * draw.randint(0, 6), f"{2 * alignment}*n"])}
        rows.append(row)
    conflicts = [draw.sample([row["id"] for row in rows], 2) for _ in range(draw.choice([0, 0, 1, 3]))]
    return {"symbols": symbols, "alignment": alignment, "buffers": rows, "conflicts": conflicts}


def problem_at(problem: dict[str, Any], values: Values) -> dict[str, Any]:
    """Return a symbolic problem in JSON as a plain one at the given values; sizes other than of aliases are padded."""

    def number(size: Any) -> int:
        return int(eval(str(size), {}, dict(values)))

    rows = []
    for row in problem["buffers"]:
        alignment = problem["alignment"]
        changed = {name: number(row[name]) for name in ("size", "offset", "alias_offset") if name in row}
        if "alias_of" not in row:
            changed["size"] = -(-changed["size"] // alignment) * alignment
        rows.append(row | changed | {"alignment": alignment})
    return {"buffers": rows, "conflicts": problem["conflicts"]}
