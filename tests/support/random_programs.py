"""Random small programs from a seed: branches, loops, calls, nested operations, scopes, aliases, persistent state."""

import random
from dataclasses import dataclass, field
from typing import Any


@dataclass
class _Draft:
    """A function that is being drawn: the names of its buffers, and the number of statements that it may still have."""

    chance: random.Random
    buffers: list[dict[str, Any]]
    readable: list[str]
    writable: list[str]
    own: list[str]
    left: int
    choices_left: int = 2
    callable_: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def sample_names(self, names: list[str], most: int) -> list[str]:
        return self.chance.sample(names, min(len(names), self.chance.randint(0, most)))

    def body(self, depth: int, most: int = 4) -> list[dict[str, Any]]:
        count = self.chance.randint(0 if depth else 2, most)
        found = []
        for _ in range(count):
            if self.left <= 0:
                break
            self.left -= 1
            found.append(self.statement(depth))
        return found

    def statement(self, depth: int) -> dict[str, Any]:
        kind = self.chance.choices(("op", "nested", "branches", "loop", "call"), (8, 1, 2, 2, 2))[0]
        if kind in ("branches", "loop") and depth < 3 and self.choices_left > 0:
            self.choices_left -= 1
            if kind == "loop":
                loop: dict[str, Any] = {"loop": self.body(depth + 1)}
                if self.chance.random() < 0.3:
                    loop["trips"] = self.chance.randint(1, 3)
                return loop
            branches = [self.body(depth + 1, 3) for _ in range(self.chance.randint(1, 3))]
            return {"branches": branches, "inputs": self.sample_names(self.readable, 1)}
        if kind == "call" and self.callable_:
            return self.call()
        op: dict[str, Any] = {
            "op": "op",
            "inputs": self.sample_names(self.readable, 2),
            "outputs": self.sample_names(self.writable, 2),
        }
        if self.chance.random() < 0.2:
            free = [name for name in self.own if name not in (*op["inputs"], *op["outputs"])]
            op["temporaries"] = self.sample_names(free, 1)
        if kind == "nested" and depth < 3:
            op["body"] = self.body(depth + 1, 3)
        return op

    def call(self) -> dict[str, Any]:
        name, function = self.chance.choice(self.callable_)
        sizes = {row["id"]: row["size"] for row in self.buffers}
        formal = {row["id"]: row["size"] for row in function["buffers"]}
        fits = [
            [self.chance.choice([mine for mine in names if sizes[mine] >= formal[param]] or [""]) for param in params]
            for params, names in ((function["params"], self.readable), (function["results"], self.writable))
        ]
        if any(not name for names in fits for name in names):
            return {"op": "op", "inputs": [], "outputs": []}
        return {"call": name, "inputs": fits[0], "outputs": fits[1]}


def random_program(seed: int) -> dict[str, Any]:
    """Return random operations as JSON; one in four allocates and frees, perhaps wrongly."""
    chance = random.Random(seed)
    functions: dict[str, Any] = {}
    made: list[tuple[str, dict[str, Any]]] = []
    for name in ("g", "f", "main")[chance.randint(0, 2) :]:
        function = _random_function(chance, made, is_entry=name == "main")
        if chance.random() < 0.25:
            _add_scopes(chance, function)
        functions[name] = function
        made.append((name, function))
    return {"functions": functions}


def _random_function(
    chance: random.Random, callable_: list[tuple[str, dict[str, Any]]], *, is_entry: bool
) -> dict[str, Any]:
    params = [f"x{k}" for k in range(chance.randint(0, 2))]
    results = [f"y{k}" for k in range(chance.randint(0, 2))]
    own = [f"t{k}" for k in range(chance.randint(1, 4))]
    buffers: list[dict[str, Any]] = [{"id": name, "size": chance.randint(1, 4)} for name in (*params, *results, *own)]
    aliases = []
    if chance.random() < 0.25:
        inside = chance.choice(buffers)
        size = chance.randint(1, inside["size"])
        offset = chance.randint(0, inside["size"] - size)
        aliases = [{"id": "v", "size": size, "alias_of": inside["id"], "alias_offset": offset}]
    if chance.random() < 0.1:
        buffers[-1]["persistent"] = True
    names = [row["id"] for row in (*buffers, *aliases)]
    buffers += aliases
    left = chance.randint(2, 9) if is_entry else chance.randint(1, 4)
    draft = _Draft(chance, buffers, names, names, own, left, 2 if is_entry else 1, callable_)
    return {"params": params, "results": results, "buffers": buffers, "body": draft.body(0, 9 if is_entry else 4)}


def _add_scopes(chance: random.Random, function: dict[str, Any]) -> None:
    """Insert an alloc of a random temporary somewhere, and perhaps frees."""
    own = [row["id"] for row in function["buffers"] if row["id"].startswith("t") and "persistent" not in row]
    if not own:
        return
    name = chance.choice(own)
    _insert(chance, function["body"], {"alloc": [name]}, early=True)
    for _ in range(chance.randint(0, 2)):
        _insert(chance, function["body"], {"free": [name]}, early=False)


def _insert(chance: random.Random, body: list[dict[str, Any]], statement: dict[str, Any], *, early: bool) -> None:
    inner = [
        block
        for found in body
        for block in (*found.get("branches", ()), *([found["loop"]] if "loop" in found else ()), found.get("body"))
        if block
    ]
    if inner and chance.random() < 0.4:
        _insert(chance, chance.choice(inner), statement, early=early)
    elif early:
        body.insert(chance.choice((0, 0, chance.randint(0, len(body)))), statement)
    else:
        body.insert(chance.choice((len(body), len(body), chance.randint(0, len(body)))), statement)
