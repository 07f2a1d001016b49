"""Rules for the drawn problems of several memories: `rules=pages+holes` of the family `memories` in `lab.families`."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

Row = dict[str, Any]
_STRIDE = 25
"""Each buffer whose number is a multiple of this is left to pins, so that no other rule contradicts one."""
_RESERVED = {"tcm": [[20480, 4096]], "sram0": [[0, 8192], [49984, 6400]]}


def apply_rules(data: Row, names: str, seed: int) -> Row:
    """Return the problem, as JSON, with the rules whose names are joined by `+`, or without a rule for no name.

    A rule is drawn the same with and without a second one. Each problem has a plan: the rules that could contradict
    each other select different buffers.
    """
    chosen = names.split("+") if names else []
    if unknown := [name for name in chosen if name not in RULES]:
        raise ValueError(f"no rule is called {unknown[0]!r}; the rules are {', '.join(RULES)}")
    for number, (name, apply) in enumerate(RULES.items()):
        if name in chosen:
            apply(data, np.random.default_rng([seed, number]))
    return data


def _pick(data: Row, rng: np.random.Generator, share: float) -> list[Row]:
    drawn = rng.random(len(data["buffers"])) < share
    return [row for k, row in enumerate(data["buffers"]) if drawn[k] and k % _STRIDE]


def _pick_alone(data: Row, rng: np.random.Generator) -> list[Row]:
    """Return three of ten buffers, none of them in a pair of `relative`: the pair's other buffer may not allow it."""
    below = {row["relative"]["to"] for row in data["buffers"] if "relative" in row}
    return [row for row in _pick(data, rng, 0.3) if "relative" not in row and row["id"] not in below]


def _give(rows: Iterable[Row], field: str, value: Callable[[Row], Any]) -> None:
    for row in rows:
        row[field] = value(row)


def _pairs(data: Row, every: int, first: int, apart: int = 1) -> list[tuple[Row, Row]]:
    rows, starts = data["buffers"], range(first, len(data["buffers"]) - apart, every)
    return [(rows[k], rows[k + apart]) for k in starts if k % _STRIDE and (k + apart) % _STRIDE]


def _names_of_pairs(data: Row, every: int, first: int, apart: int = 1) -> list[list[str]]:
    return [[a["id"], b["id"]] for a, b in _pairs(data, every, first, apart)]


def _share(data: Row, _: np.random.Generator) -> None:
    for low, high in _pairs(data, 2, 1):
        high |= {"size": low["size"], "traffic": high["traffic"] // high["size"] * low["size"]}
        low["end"] = low["start"] + 2
    data["may_share"] = _names_of_pairs(data, 2, 1)


def _relative(data: Row, _: np.random.Generator) -> None:
    for low, high in _pairs(data, 10, 4):
        high["relative"] = {"to": low["id"], "offset": low["size"]}
        high["end"] = max(high["end"], high["start"] + 2)


def _banks(data: Row, _: np.random.Generator) -> None:
    _give(data["pools"][:2], "bank_size", lambda _: 16384)
    data["bank"] = [{"buffers": pair, "weight": 1000} for pair in _names_of_pairs(data, 10, 2)]


def _pins(data: Row, rng: np.random.Generator) -> None:
    for row in data["buffers"][::_STRIDE]:
        offset = 64 * int(rng.integers(512, 1000 - row["size"] // 64))
        row |= {"pools": ["dram"], "offset": offset, "end": row["start"] + 2}


def _holes(data: Row, rng: np.random.Generator) -> None:
    for row in _pick(data, rng, 0.3):
        if row["end"] - row["start"] >= 4:
            start, end = row.pop("start"), row.pop("end")
            row["lifetimes"] = [[start, start + 1], [end - 1, end]]


RULES: dict[str, Callable[[Row, np.random.Generator], None]] = {
    "share": _share,
    "relative": _relative,
    "pages": lambda data, rng: _give(
        _pick(data, rng, 0.4), "no_cross", lambda row: 16384 if row["size"] + 256 <= 16384 else 32768
    ),
    "confined": lambda data, rng: _give(
        _pick(data, rng, 0.3), "pools", lambda _: ["tcm" if rng.random() < 0.3 else "sram0", "dram"]
    ),
    "aligned-pools": lambda data, _: data["pools"][1].update(alignment=4096),
    "reserved": lambda data, _: _give(data["pools"][:2], "reserved", lambda pool: _RESERVED[pool["name"]]),
    "banks": _banks,
    "together": lambda data, _: data.update(together=_names_of_pairs(data, 10, 6)),
    "conflicts": lambda data, _: data.update(conflicts=_names_of_pairs(data, 6, 1, _STRIDE)),
    "limited-ends": lambda data, rng: _give(_pick_alone(data, rng), "end_at_most", lambda _: 32768),
    "remainders": lambda data, rng: _give(
        _pick_alone(data, rng), "offset_mod", lambda _: {"modulus": 256, "remainder": 64 * int(rng.integers(3))}
    ),
    "pins": _pins,
    "holes": _holes,
}
"""Maps each rule's name to what adds it to a problem; a later rule sees what the ones before have added."""
