"""Operations, written in Python as a program is: values go from one statement to the next, names come by themselves.

```python
program = Program()
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
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from memplan.planner.errors import OperationsError, shown
from memplan.planner.operations.operations import Operations, operations_from


class Bytes(TypedDict, total=False):
    """The size of a buffer as the wire format of operations has it: `size`, or `dtype` and `shape`."""

    size: int
    dtype: str
    shape: tuple[int, ...]
    alignment: int
    pools: tuple[str, ...]


@dataclass(frozen=True)
class BufferRef:
    """A buffer of a function that is being written."""

    function: str
    name: str


class FunctionBuilder:
    """A function that is being written; statements go to the innermost block that is open.

    Every method raises OperationsError for a value of another function.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.results: tuple[str, ...] = ()
        self._buffers: dict[str, dict[str, Any]] = {}
        self._params: list[str] = []
        self._constants: list[str] = []
        self._blocks: list[list[dict[str, Any]]] = [[]]
        self._next: dict[str, int] = {}

    def param(self, name: str = "param", **bytes_: Unpack[Bytes]) -> BufferRef:
        """Take a value from the caller; of the entry, an input of the program."""
        value = self.buffer(name, **bytes_)
        self._params.append(value.name)
        return value

    def constant(self, name: str = "constant", **bytes_: Unpack[Bytes]) -> BufferRef:
        """Add what is never written."""
        value = self.buffer(name, **bytes_)
        self._constants.append(value.name)
        return value

    def state(self, name: str = "state", **bytes_: Unpack[Bytes]) -> BufferRef:
        """Add what keeps its content for as long as the program runs."""
        value = self.buffer(name, **bytes_)
        self._buffers[value.name]["persistent"] = True
        return value

    def buffer(self, name: str = "buffer", **bytes_: Unpack[Bytes]) -> BufferRef:
        """Add a buffer that nothing has written yet; a name that is taken gets a number."""
        return self._declared(name, dict(bytes_))

    def view(self, source: BufferRef, *, offset: int = 0, **bytes_: Unpack[Bytes]) -> BufferRef:
        """Look at a buffer, or at a part of it, without a copy: by default at all of it."""
        inside = self._buffers[self._own(source)]
        root = inside.get("alias_of", source.name)
        said: dict[str, Any] = {**bytes_} or {key: inside[key] for key in ("size", "dtype", "shape") if key in inside}
        lies = {"alias_of": root, "alias_offset": inside.get("alias_offset", 0) + offset}
        return self._declared(f"{source.name}_view", {**said, **lies})

    def emit(self, op: str, *inputs: BufferRef, temporaries: Iterable[int] = (), **bytes_: Unpack[Bytes]) -> BufferRef:
        """Add an operation that writes a new buffer, and return that; `temporaries` are bytes it needs meanwhile."""
        result = self.buffer(op, **bytes_)
        self.run(op, *inputs, into=(result,), temporaries=temporaries)
        return result

    def run(self, op: str, *inputs: BufferRef, into: Iterable[BufferRef] = (), temporaries: Iterable[int] = ()) -> None:
        """Add an operation that writes buffers which are there already, or none."""
        self._add(self._operation(op, inputs, into, temporaries))

    def call(
        self, function: FunctionBuilder, *inputs: BufferRef, into: Iterable[BufferRef] | None = None
    ) -> tuple[BufferRef, ...]:
        """Call a function that has been written, and return what it returned, in new buffers if `into` names none."""
        outputs = tuple(into) if into is not None else tuple(map(self._like, function.result_rows()))
        self._add({"call": function.name, "inputs": self._names(inputs), "outputs": self._names(outputs)})
        return outputs

    def returns(self, *values: BufferRef) -> None:
        """Say what the function gives its caller; of the entry, the outputs of the program."""
        self.results = self._names(values)

    def alloc(self, *values: BufferRef) -> None:
        """Begin the scope of buffers."""
        self._add({"alloc": self._names(values)})

    def free(self, *values: BufferRef) -> None:
        """End the scope of buffers."""
        self._add({"free": self._names(values)})

    @contextmanager
    def inside(
        self, op: str, *inputs: BufferRef, into: Iterable[BufferRef] = (), temporaries: Iterable[int] = ()
    ) -> Iterator[None]:
        """Add an operation, and say in the block what happens inside of it."""
        statement = self._operation(op, inputs, into, temporaries)
        with self._block() as body:
            yield
        self._add({**statement, "body": body})

    @contextmanager
    def loop(self, trips: int | None = None) -> Iterator[None]:
        """Repeat the block: so many times or, without `trips`, any number of times, none included."""
        with self._block() as body:
            yield
        self._add({"loop": body, "trips": trips})

    @contextmanager
    def choice(self, *inputs: BufferRef) -> Iterator[None]:
        """Go through one of the `branch` blocks in the block, after the inputs were read to choose it."""
        with self._block() as branches:
            yield
        if stray := [found for found in branches if "branch" not in found]:
            raise OperationsError(f"{self.name}: a choice must have branches only, got {shown(stray[0])}")
        bodies = tuple(found["branch"] for found in branches)
        self._add({"branches": bodies, "inputs": self._names(inputs)})

    @contextmanager
    def branch(self) -> Iterator[None]:
        """Write one of the branches of the choice that is open."""
        with self._block() as body:
            yield
        self._add({"branch": body})

    def row(self) -> dict[str, Any]:
        """Return the function in the wire format."""
        return {
            "params": tuple(self._params),
            "results": self.results,
            "constants": tuple(self._constants),
            "buffers": tuple(self._buffers.values()),
            "body": tuple(self._blocks[0]),
        }

    def result_rows(self) -> tuple[dict[str, Any], ...]:
        """Return the buffers that the function returns, in the wire format."""
        return tuple(self._buffers[name] for name in self.results)

    def _like(self, row: dict[str, Any]) -> BufferRef:
        return self._declared(row["id"], {key: row[key] for key in ("size", "dtype", "shape") if key in row})

    def _declared(self, name: str, row: dict[str, Any]) -> BufferRef:
        free = name
        while free in self._buffers:
            self._next[name] = self._next.get(name, 1) + 1
            free = f"{name}_{self._next[name]}"
        self._buffers[free] = {"id": free, **row}
        return BufferRef(self.name, free)

    def _operation(
        self, op: str, inputs: Iterable[BufferRef], into: Iterable[BufferRef], temporaries: Iterable[int]
    ) -> dict[str, Any]:
        own = [self.buffer(f"{op}_temporary", size=size) for size in temporaries]
        return {
            "op": op,
            "inputs": self._names(inputs),
            "outputs": self._names(into),
            "temporaries": self._names(own),
        }

    def _add(self, statement: dict[str, Any]) -> None:
        self._blocks[-1].append(statement)

    @contextmanager
    def _block(self) -> Iterator[list[dict[str, Any]]]:
        self._blocks.append([])
        try:
            yield self._blocks[-1]
        finally:
            self._blocks.pop()

    def _names(self, values: Iterable[BufferRef]) -> tuple[str, ...]:
        return tuple(self._own(value) for value in values)

    def _own(self, value: BufferRef) -> str:
        if value.function != self.name or value.name not in self._buffers:
            raise OperationsError(f"{self.name}: must be a value of this function, got {value.function}/{value.name}")
        return value.name


class ProgramBuilder:
    """Functions that are being written, and what else operations say (`order`, `pools`, `objective`, `name`)."""

    def __init__(self, **more: Any) -> None:
        self._more = more
        self._functions: dict[str, FunctionBuilder] = {}

    def function(self, name: str) -> FunctionBuilder:
        """Begin a function; raises OperationsError for a name that is taken."""
        if name in self._functions:
            raise OperationsError(f"functions: must be unique, got {shown(name)} again")
        self._functions[name] = FunctionBuilder(name)
        return self._functions[name]

    def operations(self) -> Operations:
        """Return the program; raises OperationsError."""
        functions = {name: function.row() for name, function in self._functions.items()}
        return operations_from({**self._more, "functions": functions})
