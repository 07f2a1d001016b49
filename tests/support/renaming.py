"""Copies of a problem with other names, another order, shifted times and scaled sizes."""

import json
import random
from typing import Any

from memplan.planner.model.problem import Problem

Data = dict[str, Any]


def problem_data(problem: Problem) -> Data:
    data: Data = json.loads(problem.model_dump_json(exclude_defaults=True))
    return {"pools": [{"name": "default"}]} | data


def respell(data: Data, rng: random.Random, k: int = 1) -> Data:
    """Return an equivalent problem with other names, positions and time steps; sizes are multiplied by `k`.

    Weights of pairs are costs that do not scale with bytes, so a problem with such weights keeps its sizes.
    """
    has_weights = any(use.get("weight") is not None for use in data.get("bank", ()))
    return shuffle(rename(retime(data if has_weights else scale(data, k))), rng)


def rename(data: Data) -> Data:
    names = {row["id"]: f"new {k}" for k, row in enumerate(data["buffers"])}
    rows = [dict(row) for row in data["buffers"]]
    for row in rows:
        row["id"] = names[row["id"]]
        if "alias_of" in row:
            row["alias_of"] = names[row["alias_of"]]
        if "relative" in row:
            row["relative"] = row["relative"] | {"to": names[row["relative"]["to"]]}
        for key in {"pools", "forbid_pools"} & row.keys():
            row[key] = [f"new {name}" for name in row[key]]
    changed: Data = {"buffers": rows, "name": "another"}
    changed["pools"] = [pool | {"name": f"new {pool['name']}"} for pool in data.get("pools", [{"name": "default"}])]
    changed["conflicts"] = [[names[b], names[a]] for a, b in data.get("conflicts", ())]
    changed["may_share"] = [[names[b], names[a]] for a, b in data.get("may_share", ())]
    changed["together"] = [[names[name] for name in entry] for entry in data.get("together", ())]
    changed["bank"] = [use | {"buffers": [names[name] for name in use["buffers"]]} for use in data.get("bank", ())]
    return data | changed


def retime(data: Data) -> Data:
    rows = []
    for row in data["buffers"]:
        changes: Data = {name: _time(row[name]) for name in ("start", "end") if name in row}
        if "lifetimes" in row:
            changes["lifetimes"] = [[_time(low), _time(high)] for low, high in row["lifetimes"]]
        rows.append(row | changes)
    return data | {"buffers": rows}


def scale(data: Data, k: int) -> Data:
    limits = ("no_cross", "end_at_most", "start_at_least")
    of_buffers = ("size", "alignment", "offset", "hint", "traffic", "alias_offset", *limits)
    of_pools = ("size", "alignment", "base_address", "bank_size")
    rows = []
    for row in data["buffers"]:
        changes: Data = {name: k * row[name] for name in of_buffers if name in row}
        if "relative" in row:
            changes["relative"] = row["relative"] | {"offset": k * row["relative"]["offset"]}
        if "offset_mod" in row:
            changes["offset_mod"] = {name: k * count for name, count in row["offset_mod"].items()}
        rows.append(row | changes)
    pools = [
        pool
        | {name: k * pool[name] for name in of_pools if name in pool}
        | {"reserved": [[k * low, k * width] for low, width in pool.get("reserved", ())]}
        for pool in data.get("pools", [{"name": "default"}])
    ]
    return data | {"buffers": rows, "pools": pools}


def shuffle(data: Data, rng: random.Random) -> Data:
    """Return the problem with all lists in another order, except the pools, whose order has a meaning."""
    names = [name for name in ("buffers", "conflicts", "may_share", "together", "bank") if name in data]
    return data | {name: rng.sample(data[name], len(data[name])) for name in names}


def _time(step: int) -> int:
    return 7 * step**3 - 1000
