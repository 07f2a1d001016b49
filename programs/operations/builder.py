"""The builder of programs in Python, whose methods return buffer names that later statements can use.

```python
program = ProgramBuilder()
main = program.function("main")
image = main.param(dtype="int8", shape=(96, 96, 3))
features = main.emit("conv", image, size=18432, temporaries=[2592])
main.returns(main.emit("classify", features, size=40))
problem = problem_of(program.operations())
```
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from memplan.programs.operations.operations import Operations, operations_from


class FunctionBuilder:
    """A function under construction; each statement is added to the innermost open block.

    Buffers have the fields of the wire format: `size` (or `dtype` and `shape`), `alignment`, `pools`, `alias_of`.
    """

    def __init__(self, name: str) -> None:
        """Start a function without buffers and statements."""
        self.name = name
        self.row: dict[str, Any] = {"params": [], "results": [], "constants": [], "buffers": [], "body": []}
        self._taken: dict[str, int] = {}
        self._blocks: list[list[Any]] = [self.row["body"]]

    def buffer(self, name: str = "buffer", **row: Any) -> str:
        """Add a buffer that no statement writes yet; return its name, with a number appended if the name is taken."""
        self._taken[name] = count = self._taken.get(name, 0) + 1
        unique = name if count == 1 else f"{name}_{count}"
        self.row["buffers"].append({"id": unique, **row})
        return unique

    def param(self, name: str = "param", **row: Any) -> str:
        """Add a parameter and return its name; a parameter of the entry function is an input of the program."""
        self.row["params"].append(self.buffer(name, **row))
        return str(self.row["params"][-1])

    def constant(self, name: str = "constant", **row: Any) -> str:
        """Add a constant, which no statement writes, and return its name."""
        self.row["constants"].append(self.buffer(name, **row))
        return str(self.row["constants"][-1])

    def emit(self, op: str, *inputs: str, temporaries: Iterable[int] = (), **row: Any) -> str:
        """Add an operation that writes a new buffer, and return the buffer's name; `temporaries` are sizes in bytes."""
        result = self.buffer(op, **row)
        self.run(op, *inputs, into=(result,), temporaries=temporaries)
        return result

    def run(self, op: str, *inputs: str, into: Iterable[str] = (), temporaries: Iterable[int] = ()) -> None:
        """Add an operation that writes the existing buffers in `into`; `temporaries` are sizes in bytes."""
        own = [self.buffer(f"{op}_temporary", size=size) for size in temporaries]
        self.add({"op": op, "inputs": inputs, "outputs": list(into), "temporaries": own})

    def call(self, function: "FunctionBuilder", *inputs: str) -> tuple[str, ...]:
        """Add a call of a finished function; return the names of the new buffers that receive its results."""
        rows = {row["id"]: row for row in function.row["buffers"]}
        same = ("size", "dtype", "shape")
        outputs = [
            self.buffer(name, **{key: rows[name][key] for key in same if key in rows[name]})
            for name in function.row["results"]
        ]
        self.add({"call": function.name, "inputs": inputs, "outputs": outputs})
        return tuple(outputs)

    def returns(self, *values: str) -> None:
        """Set the results of the function; results of the entry function are the outputs of the program."""
        self.row["results"] = list(values)

    def add(self, statement: dict[str, Any]) -> None:
        """Add a statement that is given in its JSON form, such as `{"alloc": ["t"]}`."""
        self._blocks[-1].append(statement)

    @contextmanager
    def loop(self, trips: int | None = None) -> Iterator[None]:
        """Open a loop whose block runs `trips` times; None means any number of times, including zero."""
        statement: dict[str, Any] = {"loop": [], "trips": trips}
        self.add(statement)
        with self._open_block(statement["loop"]):
            yield

    @contextmanager
    def choice(self, *inputs: str) -> Iterator[None]:
        """Open a choice: it reads `inputs`, and then runs one of the blocks that `branch` opens."""
        statement: dict[str, Any] = {"branches": [], "inputs": inputs}
        self.add(statement)
        with self._open_block(statement["branches"]):
            yield

    @contextmanager
    def branch(self) -> Iterator[None]:
        """Open a branch (a block) of the current choice."""
        body: list[Any] = []
        self._blocks[-1].append(body)
        with self._open_block(body):
            yield

    @contextmanager
    def _open_block(self, statements: list[Any]) -> Iterator[None]:
        self._blocks.append(statements)
        try:
            yield
        finally:
            self._blocks.pop()


class ProgramBuilder:
    """A program under construction: its functions, and the fields `order`, `pools`, `objective` and `name`."""

    def __init__(self, **more: Any) -> None:
        """Start a program without functions; `more` has other fields of the program, such as `order` and `pools`."""
        self._more = more
        self._functions: dict[str, FunctionBuilder] = {}

    def function(self, name: str) -> FunctionBuilder:
        """Return the function called `name`; create the function if it does not exist yet."""
        return self._functions.setdefault(name, FunctionBuilder(name))

    def operations(self) -> Operations:
        """Return the finished program; raises OperationsError if it breaks a rule of programs."""
        return operations_from({**self._more, "functions": {name: f.row for name, f in self._functions.items()}})
