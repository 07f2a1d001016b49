"""Check shared objects without memplan: objects.py PROBLEM ANSWER. Exit status: 0 valid, 2 wrong input, 3 refused.

PROBLEM has `"kind": "objects"`. ANSWER lists the buffer ids of each object: `{"objects": [{"buffers": [...]}]}`.
"""
# The k-th largest object is at least the k-th largest buffer of any live set, which proves the bound (docs/plan.md).

import json, sys
from collections import defaultdict
from importlib import import_module
from itertools import pairwise
from pathlib import Path

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
reading = import_module(f"{__package__ or ''}.read".lstrip("."))
Refused, require = reading.Refused, reading.require
PROBLEM = "kind=S name=S? interval=w ratio=a? alignment=a buffers=l"
BUFFER = "id=i size=b? width=a? height=a? kind=S? start=t end=t"


class Demand:
    """A buffer that needs a shared object: its kind (buffers share only within a kind), side lengths, and lifetime."""

    def __init__(self, row, shift, alignment):
        """Read a buffer with a size or two sides; inclusive ends are shifted by 1, and sizes are aligned."""
        row = reading.fields(row, BUFFER, "id", "start", "end")
        require(
            ("size" in row) != ("width" in row) and ("width" in row) == ("height" in row), "a size or two sides", row
        )
        self.kind = ("bytes" if "size" in row else "texels", row.get("kind"))
        size = -(-row.get("size", 0) // alignment) * alignment
        self.sides, self.name = (row.get("width", size), row.get("height", 1)), row["id"]
        self.life = reading.half_open(row["start"], row["end"], shift)


def read(text):
    """Return the buffers of a problem, and the allowed ratio of side lengths within one object, or None."""
    data = reading.fields(json.loads(text, object_pairs_hook=reading.unique_object), PROBLEM, "kind", "buffers")
    require(data["kind"] == "objects", "a problem of another kind")
    shift = reading.SHIFTS[data.get("interval", "half-open")]
    rows = [Demand(row, shift, data.get("alignment", 1)) for row in data["buffers"]]
    require(len({row.name for row in rows}) == len(rows), "an id twice")
    return rows, data.get("ratio")


def area(sides):
    """Return the size of an object: the product of its two side lengths."""
    return sides[0] * sides[1]


def total_bound(rows):
    """Return a lower bound on the total size of the shared objects.

    For each k, take the largest size that the k-th largest live buffer has at any time; the bound is their total.
    """
    by_kind, total = defaultdict(list), 0
    for row in rows:
        by_kind[row.kind].append(row)
    for some in by_kind.values():
        values = []
        for time in {row.life[0] for row in some}:
            live = sorted((area(row.sides) for row in some if row.life[0] <= time < row.life[1]), reverse=True)
            values += [0] * (len(live) - len(values))
            values = [max(pair) for pair in zip(values, live + [0] * len(values))]
        total += sum(values)
    return total


def check(text, answer):
    """Return the total size of the objects and a lower bound on it. Raises Refused for an invalid answer."""
    rows, ratio = read(text)
    index, seen, total = {row.name: row for row in rows}, set(), 0
    for shared in json.loads(answer)["objects"]:
        members = [index[name] for name in shared["buffers"]]
        if seen & {row.name for row in members} or len({row.name for row in members}) < len(members):
            raise Refused("each buffer must be in one object only")
        seen |= {row.name for row in members}
        if len({row.kind for row in members}) > 1:
            raise Refused(f"the buffers in the object of {members[0].name!r} must have one kind")
        lives = sorted(row.life for row in members)
        if any(after[0] < before[1] for before, after in pairwise(lives)):
            raise Refused(f"the buffers in the object of {members[0].name!r} must not be alive together")
        sides = [[row.sides[k] for row in members] for k in (0, 1)]
        if ratio and members[0].kind[0] == "texels" and any(max(side) > ratio * min(side) for side in sides):
            raise Refused(f"sides in the object of {members[0].name!r} must be at most {ratio} times the smallest")
        total += area([max(side) for side in sides])
    if missing := index.keys() - seen:
        raise Refused(f"buffer {min(missing, key=str)!r} must be in an object")
    return total, total_bound(rows)


if __name__ == "__main__":
    try:
        total, bound = check(*(open(name, encoding="utf-8").read() for name in sys.argv[1:3]))
        print(f"valid: the objects take {total}, and none take less than {bound}")
    except Refused as why:
        sys.exit(print(f"refused: {why}") or 3)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        sys.exit(print(f"wrong input: {error!r}") or 2)
