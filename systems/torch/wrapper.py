"""Wrapper code of torch's inductor, `output_code.py`: the storages that its function `call` allocates and reuses.

Each statement is a step. `empty_strided_*` allocates a storage, `alloc_from_pool` a part of one. A new name
for an old one on a line that says `# reuse` or `# alloc` is a new buffer in the bytes of the old one; every other new
name is a view of the same buffer. A buffer is alive from the first statement that passes it on, which writes it, to the
last one that names it or a view of it; what is returned stays. Each storage is a pool of its bytes.
The code is parsed and never run. Source: torch 2.13, torch/_inductor/codegen/wrapper.py and memory_planning.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from memplan.planner.errors import FormatError, shown
from memplan.planner.model.problem import Problem
from memplan.planner.operations.graph_facts import bits_of
from memplan.systems.imported import Imported, plan_of, refuse_dims, size_of
from memplan.systems.model_options import ModelOptions

_NEW_BUFFER = ("# reuse", "# alloc")
_ALLOCATE, _FROM_POOL, _VIEW = "empty_strided", "alloc_from_pool", "reinterpret_tensor"


@dataclass
class _Buffer:
    """A buffer: its storage, its bytes there, those of an element, and the steps that pass it on."""

    name: str
    storage: str
    offset: int
    size: int
    element: int
    steps: list[int] = field(default_factory=list)


def read(data: bytes, options: ModelOptions) -> Imported:
    """Read the plan of a wrapper; raises FormatError, and OptionError for named dimensions."""
    refuse_dims(options, "wrappers of inductor")
    text = data.decode(errors="backslashreplace")
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise FormatError(f"wrapper: must be Python: {error}") from error
    calls = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef) and node.name == "call"]
    if not calls:
        raise FormatError("wrapper: must have the function call, as inductor writes it")
    wrapper = _Wrapper(text.splitlines())
    for when, statement in enumerate(_statements(calls[0].body)):
        try:
            wrapper.add(statement, when)
        except (ValueError, LookupError) as error:
            raise FormatError(f"line {statement.lineno}: must be as inductor writes it: {error}") from error
    buffers = [row for row in wrapper.buffers if row.steps]
    if not buffers:
        raise FormatError("wrapper: must pass on buffers that it allocates, as empty_strided_cpu does, got none")
    rows = [
        {
            "id": row.name,
            "size": size_of(f"buffer {row.name}", row.size, options),
            "start": row.steps[0],
            "end": row.steps[-1] + 1,
            "pools": (row.storage,),
        }
        for row in buffers
    ]
    pools = {row.storage: wrapper.storages[row.storage] for row in buffers}
    named = [{"name": name, "size": size} for name, size in pools.items()]
    problem = Problem.model_validate({"buffers": rows, "pools": named})
    plan = plan_of(problem, {row.name: row.offset for row in buffers})
    return Imported(problem, own_peak=sum(pools.values()), own_plan=plan)


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a function, those inside of `with` among them."""
    for statement in body:
        if isinstance(statement, ast.With):
            yield from _statements(statement.body)
        else:
            yield statement


class _Wrapper:
    """Storages with their bytes, all buffers, and those that names stand for, after the steps so far."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.storages: dict[str, int] = {}
        self.buffers: list[_Buffer] = []
        self.names: dict[str, _Buffer] = {}

    def add(self, statement: ast.stmt, when: int) -> None:
        """Add a step."""
        if isinstance(statement, ast.Delete):
            return
        if isinstance(statement, ast.Assign) and isinstance(target := statement.targets[0], ast.Name):
            if self._assigned(target.id, statement):
                return
            self.names.pop(target.id, None)
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id in self.names:
                self.names[node.id].steps.append(when)

    def _assigned(self, name: str, statement: ast.Assign) -> bool:
        """Let a name stand for the buffer that a statement makes or looks at; False where none is planned."""
        value, function = statement.value, _called(statement.value)
        if isinstance(value, ast.Call) and function.startswith(_ALLOCATE):
            shape, strides, dtype = value.args[:3]
            element = _element(dtype)
            self.storages[name] = size = _extent(shape, strides) * element
            self._new(name, name, 0, size, element)
        elif isinstance(value, ast.Call) and function == _FROM_POOL:
            pool, offset, dtype, shape, strides = value.args[:5]
            element = _element(dtype)
            storage = self.names[ast.unparse(pool)].storage
            self._new(name, storage, _number(offset), _extent(shape, strides) * element, element)
        else:
            source = value.args[0] if isinstance(value, ast.Call) and function == _VIEW else value
            base = self.names.get(source.id) if isinstance(source, ast.Name) else None
            if base is None:
                return False
            if not any(mark in self.lines[(statement.end_lineno or 1) - 1] for mark in _NEW_BUFFER):
                self.names[name] = base
            elif isinstance(value, ast.Call):
                shape, strides, offset = value.args[1:4]
                at = base.offset + _number(offset) * base.element
                self._new(name, base.storage, at, _extent(shape, strides) * base.element, base.element)
            else:
                self._new(name, base.storage, base.offset, base.size, base.element)
        return True

    def _new(self, name: str, storage: str, offset: int, size: int, element: int) -> None:
        self.names[name] = _Buffer(name, storage, offset, size, element)
        self.buffers.append(self.names[name])


def _called(value: ast.expr) -> str:
    return ast.unparse(value.func).rpartition(".")[2] if isinstance(value, ast.Call) else ""


def _number(value: ast.expr) -> int:
    if isinstance(value, ast.Constant) and isinstance(value.value, int):
        return value.value
    raise FormatError(f"sizes: must be numbers, got {shown(ast.unparse(value))}; compile with dynamic=False")


def _extent(shape: ast.expr, strides: ast.expr) -> int:
    """Return the elements from the first to the last one of a tensor."""
    sizes, steps = ([_number(each) for each in getattr(row, "elts", (row,))] for row in (shape, strides))
    return 0 if 0 in sizes else 1 + sum((size - 1) * step for size, step in zip(sizes, steps, strict=False))


def _element(dtype: ast.expr) -> int:
    name = ast.unparse(dtype).rpartition(".")[2]
    if (bits := bits_of(name)) is None:
        raise FormatError(f"types: must be of a known size, got {shown(name)}")
    return -(-bits // 8)
