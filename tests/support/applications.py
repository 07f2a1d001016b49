"""Random small applications (several models in common pools), their conflicts by definition, and minimum peaks."""

import random
from itertools import combinations, permutations
from math import inf
from typing import Any

Windows = dict[str, tuple[float, float]]


def draw_application(seed: int) -> dict[str, Any]:
    chance, left = random.Random(seed), 7
    names = "abcd"[: chance.randint(2, 4)]
    models: dict[str, Any] = {}
    for k, name in enumerate(names):
        count = chance.randint(1, max(1, min(3, left - (len(names) - 1 - k))))
        left -= count
        starts = [chance.randrange(4) for _ in range(count)]
        rows = [(i, chance.randint(1, 9), start, start + chance.randint(1, 3)) for i, start in enumerate(starts)]
        models[name] = {"buffers": [dict(zip(("id", "size", "start", "end"), row, strict=True)) for row in rows]}
    found: dict[str, Any] = {"models": models}
    if chance.random() < 0.3:
        earlier = {b: [a for a in names if a < b and chance.random() < 0.5] for b in names}
        found["after"] = {name: before for name, before in earlier.items() if before}
    else:
        found["together"] = [list(pair) for pair in combinations(names, 2) if chance.random() < 0.4]
    found["held"] = []
    for _ in range(chance.choice([0, 1, 1, 2])):
        a, b = chance.sample(names, 2)
        until = b if chance.random() < 0.3 else f"{b}/{chance.randrange(len(models[b]['buffers']))}"
        through = [name for name in names if name not in (a, b) and chance.random() < 0.5]
        row = {"buffer": f"{a}/0", "until": until} | ({"through": through} if chance.random() < 0.7 else {})
        if row["buffer"] not in [each["buffer"] for each in found["held"]]:
            found["held"].append(row)
    if chance.random() < 0.3:
        found["persistent"] = [f"{chance.choice(names)}/0"]
    return found


def conflicts_of(application: dict[str, Any]) -> tuple[dict[str, int], set[frozenset[str]]]:
    models = application["models"]
    size = {f"{name}/{row['id']}": row["size"] for name, model in models.items() for row in model["buffers"]}
    before = {name: set(application.get("after", {}).get(name, ())) for name in models}
    for _ in models:
        before = {name: early.union(*(before[each] for each in early)) for name, early in before.items()}
    if "after" in application:
        beside = {frozenset((a, b)) for a, b in combinations(models, 2) if a not in before[b] and b not in before[a]}
    else:
        beside = {frozenset(pair) for pair in application.get("together", ())}
    windows: dict[str, Windows] = {}
    for name, model in models.items():
        for row in model["buffers"]:
            windows[f"{name}/{row['id']}"] = {name: (row["start"], row["end"])}
    own = {key: dict(value) for key, value in windows.items()}
    for each in application.get("held", ()):
        maker, reader = each["buffer"].partition("/")[0], each["until"].partition("/")[0]
        default = [n for n in models if n not in before[maker] and reader not in before[n]]
        windows[each["buffer"]] |= {
            maker: (own[each["buffer"]][maker][0], inf),
            reader: (-inf, own[each["until"]][reader][0] + 1 if "/" in each["until"] else inf),
            **{name: (-inf, inf) for name in each.get("through", default) if name not in (maker, reader)},
        }
    found = set()
    for a, b in combinations(size, 2):
        x, y = windows[a], windows[b]
        meets = any(x[m][0] < y[m][1] and y[m][0] < x[m][1] for m in x.keys() & y.keys())
        meets = meets or frozenset((a.partition("/")[0], b.partition("/")[0])) in beside
        meets = meets or bool({a, b} & set(application.get("persistent", ())))
        # Within one model, time windows decide; buffers of different models conflict if the models run together.
        if meets or any(frozenset((m, n)) in beside for m in x.keys() - y.keys() for n in y.keys() - x.keys()):
            found.add(frozenset((a, b)))
    return size, found


def min_peak(size: dict[str, int], pairs: set[frozenset[str]]) -> int:
    """Return the minimum peak in bytes over all orders of stacking the buffers."""
    best = sum(size.values())
    for order in permutations(size):
        end: dict[str, int] = {}
        for name in order:
            end[name] = size[name] + max((end[other] for other in end if frozenset((name, other)) in pairs), default=0)
            if end[name] >= best:
                break
        else:
            best = max(end.values(), default=0)
    return best
