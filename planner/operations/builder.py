"""Operations, written in Python as a program is: names of buffers go from one statement to the next.

```python
program = ProgramBuilder()
main = program.function("main")
image = main.param(dtype="int8", shape=(96, 96, 3))
features = main.emit("conv", image, size=18432, temporaries=[2592])
main.returns(main.emit("classify", features, size=40))
problem = problem_of(program.operations())
```
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from memplan.planner.operations.operations import Operations, operations_from


class FunctionBuilder:
    """A function that is being written; statements go to the innermost block that is open.

    What is said of a buffer is what the wire format of operations has: `size`, or `dtype` and `shape`, `alignment`,
    `pools`, `alias_of`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.row: dict[str, Any] = {"params": [], "results": [], "constants": [], "buffers": [], "body": []}
        self._taken: dict[str, int] = {}
        self._blocks: list[list[Any]] = [self.row["body"]]

    def buffer(self, name: str = "buffer", **row: Any) -> str:
        """Add a buffer that nothing has written yet, and return its name; one that is taken gets a number."""
        self._taken[name] = count = self._taken.get(name, 0) + 1
        unique = name if count == 1 else f"{name}_{count}"
        self.row["buffers"].append({"id": unique, **row})
        return unique

    def param(self, name: str = "param", **row: Any) -> str:
        """Take a value from the caller; of the entry, an input of the program."""
        self.row["params"].append(self.buffer(name, **row))
        return str(self.row["params"][-1])

    def constant(self, name: str = "constant", **row: Any) -> str:
        """Add what is never written."""
        self.row["constants"].append(self.buffer(name, **row))
        return str(self.row["constants"][-1])

    def emit(self, op: str, *inputs: str, temporaries: Iterable[int] = (), **row: Any) -> str:
        """Add an operation that writes a new buffer, and return that; `temporaries` are bytes it needs meanwhile."""
        result = self.buffer(op, **row)
        self.run(op, *inputs, into=(result,), temporaries=temporaries)
        return result

    def run(self, op: str, *inputs: str, into: Iterable[str] = (), temporaries: Iterable[int] = ()) -> None:
        """Add an operation that writes buffers which are there already, or none."""
        own = [self.buffer(f"{op}_temporary", size=size) for size in temporaries]
        self.add({"op": op, "inputs": inputs, "outputs": list(into), "temporaries": own})

    def call(self, function: FunctionBuilder, *inputs: str) -> tuple[str, ...]:
        """Call a function that has been written, and return what it returned, in new buffers."""
        rows = {row["id"]: row for row in function.row["buffers"]}
        same = ("size", "dtype", "shape")
        outputs = [
            self.buffer(name, **{key: rows[name][key] for key in same if key in rows[name]})
            for name in function.row["results"]
        ]
        self.add({"call": function.name, "inputs": inputs, "outputs": outputs})
        return tuple(outputs)

    def returns(self, *values: str) -> None:
        """Say what the function gives its caller; of the entry, the outputs of the program."""
        self.row["results"] = list(values)

    def add(self, statement: dict[str, Any]) -> None:
        """Add a statement as the wire format has it: `{"alloc": ["t"]}`."""
        self._blocks[-1].append(statement)

    @contextmanager
    def loop(self, trips: int | None = None) -> Iterator[None]:
        """Repeat the block: so many times or, without `trips`, any number of times, none included."""
        statement: dict[str, Any] = {"loop": [], "trips": trips}
        self.add(statement)
        with self._block(statement["loop"]):
            yield

    @contextmanager
    def choice(self, *inputs: str) -> Iterator[None]:
        """Go through one of the `branch` blocks in the block, after the inputs were read to choose it."""
        statement: dict[str, Any] = {"branches": [], "inputs": inputs}
        self.add(statement)
        with self._block(statement["branches"]):
            yield

    @contextmanager
    def branch(self) -> Iterator[None]:
        """Write one of the branches of the choice that is open."""
        body: list[Any] = []
        self._blocks[-1].append(body)
        with self._block(body):
            yield

    @contextmanager
    def _block(self, statements: list[Any]) -> Iterator[None]:
        self._blocks.append(statements)
        try:
            yield
        finally:
            self._blocks.pop()


class ProgramBuilder:
    """Functions that are being written, and what else operations say (`order`, `pools`, `objective`, `name`)."""

    def __init__(self, **more: Any) -> None:
        self._more = more
        self._functions: dict[str, FunctionBuilder] = {}

    def function(self, name: str) -> FunctionBuilder:
        """Begin a function, or go on with it."""
        return self._functions.setdefault(name, FunctionBuilder(name))

    def operations(self) -> Operations:
        """Return the program; raises OperationsError."""
        return operations_from({**self._more, "functions": {name: f.row for name, f in self._functions.items()}})
