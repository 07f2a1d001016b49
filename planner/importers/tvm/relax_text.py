"""TVMScript as text: the function that it is about, its tensors' bytes, and sizes that options give."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pydantic import ValidationError

from memplan.planner.errors import MAX_SHOWN, FormatError, OptionError, shown
from memplan.planner.importers.imported import sized
from memplan.planner.model.rows import MAX_BYTES
from memplan.planner.operations.operations import DeclaredBuffer

_MOST_DIMENSIONS = 100


class Dims:
    """The sizes of named dimensions that were given, and the names that the program has."""

    def __init__(self, given: Mapping[str, int]) -> None:
        self.given = given
        self.named: set[str] = set()

    def size(self, found: ast.expr) -> int:
        """Return the size of a dimension; raises FormatError where it is not known."""
        if isinstance(found, ast.Call) and len(found.args) == 1:  # T.int64(4), R.prim_value(4)
            found = found.args[0]
        name = found.id if isinstance(found, ast.Name) else found.value if isinstance(found, ast.Constant) else None
        if isinstance(name, str):
            self.named.add(name)
            if name not in self.given:
                raise FormatError(f"{line(found)}: must have a size (an option), got the dimension {shown(name)}")
            return self.given[name]
        if not isinstance(name, int) or isinstance(name, bool) or not 0 <= name <= MAX_BYTES:
            raise FormatError(f"{line(found)}: must be a size or the name of a dimension, got {_cut(found)}")
        return name

    def refuse_unknown(self) -> None:
        """Raise OptionError for a size that was given for nothing."""
        if unknown := [name for name in self.given if name not in self.named]:
            known = ", ".join(sorted(self.named)[:MAX_SHOWN]) or "none"
            raise OptionError(f"dim: must be a dimension that the program names ({known}), got {shown(unknown[0])}")


@dataclass(frozen=True)
class RelaxTensor:
    """A tensor's shape and type, and where they are said."""

    shape: tuple[int, ...]
    dtype: str
    where: str

    @classmethod
    def of(cls, call: ast.Call, place: int, dtype: str | None, dims: Dims) -> RelaxTensor:
        """Return the tensor whose shape is an argument of a call, `R.shape([…])`, and whose type is the next one."""
        if len(call.args) <= place + (dtype is None):
            raise FormatError(f"{line(call)}: must have a shape and a type, got {_cut(call)}")
        return cls(_shape(call.args[place], dims), dtype or _dtype(call.args[place + 1]), line(call))

    @cached_property
    def bits(self) -> int:
        """The bits of an element, which takes whole bytes in TVM; raises FormatError."""
        try:
            return 8 * DeclaredBuffer(id="element", dtype=self.dtype, shape=()).bytes
        except ValidationError:
            rule = "must have a type such as int8, float32 or float32x4"
            raise FormatError(f"{self.where}: {rule}, got {shown(self.dtype)}") from None

    def size(self, alignment: int) -> int:
        """Return the bytes, rounded up; raises FormatError."""
        elements = 1
        for size in self.shape:
            elements = min(elements * size, MAX_BYTES + 1)
        return sized(self.where, elements, self.bits, alignment)


def function_of(data: bytes) -> ast.FunctionDef:
    """Return the Relax function that is run: `main`, or the only one; raises FormatError.

    Others are not in place of their calls, so one that is called is an error.
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # of the text's odd literals
            module = ast.parse(data.decode())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise FormatError(f"must be TVMScript: {shown(str(error) or type(error).__name__)}") from None
    functions: dict[str, ast.FunctionDef] = {}
    inside = [row for part in module.body if isinstance(part, ast.ClassDef) for row in part.body]
    for found in (*module.body, *inside):
        if isinstance(found, ast.FunctionDef) and any(_is_relax(mark) for mark in found.decorator_list):
            functions[found.name] = found
    if not functions or (len(functions) > 1 and "main" not in functions):
        rule = "must have a function main, or only one, with @R.function"
        raise FormatError(f"{rule}, got {shown(list(functions))}")
    function = functions.get("main") or next(iter(functions.values()))
    for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
        name = dotted_name(call.func)
        if name.startswith("cls.") and name[4:] in functions:
            rule = f"must not call another Relax function (inline it before), got {shown(name)}"
            raise FormatError(f"{line(call)}: {rule}")
    return function


def tensors_of(annotation: ast.expr | None, dims: Dims) -> list[RelaxTensor | None]:
    """Return the tensors of a value: of R.Tensor one, of R.Tuple one an entry, or None there; none of anything else."""
    if not isinstance(annotation, ast.Call):
        return []
    kind = dotted_name(annotation.func)
    if kind == "R.Tuple":
        entries = [tensors_of(entry, dims) or [None] for entry in annotation.args]
        if any(len(entry) > 1 for entry in entries):
            raise FormatError(f"{line(annotation)}: must be a tuple of tensors, got a tuple inside")
        return [entry[0] for entry in entries]
    if kind != "R.Tensor":
        return []
    named = {keyword.arg: keyword.value for keyword in annotation.keywords}
    dtype = named.get("dtype") or (annotation.args[1] if len(annotation.args) > 1 else None)
    if not annotation.args or dtype is None:
        raise FormatError(f"{line(annotation)}: must be a tensor of known shape and type, got {_cut(annotation)}")
    return [RelaxTensor(_shape(annotation.args[0], dims), _dtype(dtype), line(annotation))]


def dotted_name(name: ast.expr) -> str:
    """Return a dotted name; an empty text for an expression that is none."""
    parts: list[str] = []
    while isinstance(name, ast.Attribute):
        parts.append(name.attr)
        name = name.value
    return ".".join(reversed([*parts, name.id])) if isinstance(name, ast.Name) else ""


def line(found: ast.expr | ast.stmt | ast.arg) -> str:
    """Name the line that something is on."""
    return f"line {found.lineno}"


def _is_relax(mark: ast.expr) -> bool:
    return dotted_name(mark.func if isinstance(mark, ast.Call) else mark) == "R.function"


def _shape(found: ast.expr, dims: Dims) -> tuple[int, ...]:
    if isinstance(found, ast.Call) and dotted_name(found.func) == "R.shape" and found.args:
        found = found.args[0]
    if isinstance(found, ast.Call | ast.Constant):  # a storage's size, of one dimension
        return (dims.size(found),)
    if not isinstance(found, ast.List | ast.Tuple) or len(found.elts) > _MOST_DIMENSIONS:
        raise FormatError(f"{line(found)}: must be a shape of at most {_MOST_DIMENSIONS} sizes, got {_cut(found)}")
    return tuple(dims.size(entry) for entry in found.elts)


def _dtype(found: ast.expr) -> str:
    if isinstance(found, ast.Call) and len(found.args) == 1:  # R.dtype("float32")
        found = found.args[0]
    if isinstance(found, ast.Constant) and isinstance(found.value, str):
        return found.value
    raise FormatError(f'{line(found)}: must be a type such as "float32", got {_cut(found)}')


def _cut(found: ast.expr) -> str:
    if isinstance(found, ast.Constant):
        return shown(found.value)
    return shown(type(found).__name__)
