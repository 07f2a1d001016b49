"""Functions for TVMScript text: finding the function to read, and computing the sizes of its tensors."""

import ast
import operator
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from pydantic import ValidationError

from memplan.planner.errors import CUT_OFF, MAX_SHOWN, FormatError, OptionError, excerpt
from memplan.planner.foreign.imported import OpenSizesError, packed_bytes
from memplan.planner.model.rows import MAX_BYTES
from memplan.programs.operations.operations import DeclaredBuffer

_MOST_DIMENSIONS = 100
_LONGEST_SIZE, _DEEPEST = 200, 50
_COMPUTED: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: lambda a, b: a // b if b else -1,
}
"""Maps each operator that may occur in a size to the Python function that computes it."""


class Dims:
    """The sizes that the options give to named dimensions, and the names of dimensions that the program uses."""

    def __init__(self, given: Mapping[str, int]) -> None:
        """Store the sizes that the options give, before the program has used any dimension."""
        self.given = given
        self.named: set[str] = set()

    def size(self, found: ast.expr, depth: int = 0) -> int:
        """Return the size of a dimension as a number. Raises FormatError if it is unknown or nested too deeply."""
        if isinstance(found, ast.Call) and len(found.args) == 1:  # A size may be written as a call such as T.int64(4).
            found = found.args[0]
        if (computed := _size_operation(found)) is not None:
            if depth == _DEEPEST:
                raise FormatError(f"{line(found)}: must be computed in at most {_DEEPEST} steps, got more")
            left, right = self.size(computed.left, depth + 1), self.size(computed.right, depth + 1)
            return self._check_dimension(_COMPUTED[type(computed.op)](left, right), found)
        name = found.id if isinstance(found, ast.Name) else found.value if isinstance(found, ast.Constant) else None
        if isinstance(name, str):
            self.named.add(name)
            if name not in self.given:
                raise OpenSizesError(f"{line(found)}: must have a size, got none for {excerpt(name)}", {name: 1})
            return self.given[name]
        return self._check_dimension(name, found)

    def _check_dimension(self, name: object, found: ast.expr) -> int:
        """Return `name` if it is an integer size in range. Raises FormatError for any other value."""
        if not isinstance(name, int) or isinstance(name, bool) or not 0 <= name <= MAX_BYTES:
            raise FormatError(f"{line(found)}: must be a size or the name of a dimension, got {_cut(found)}")
        return name

    def refuse_unknown(self) -> None:
        """Raise OptionError if the options give a size for a dimension that the program does not use."""
        if unknown := [name for name in self.given if name not in self.named]:
            names = ", ".join(sorted(self.named)[:MAX_SHOWN]) or "none"
            raise OptionError.from_rule(
                "dims", f"must be a named dimension of the program ({names}), got {excerpt(unknown[0])}"
            )


@dataclass(frozen=True)
class RelaxTensor:
    """The shape and the element type of a tensor, and the line of the file that states them."""

    shape: tuple[int, ...]
    dtype: str
    where: str

    @classmethod
    def from_call(cls, call: ast.Call, place: int, dtype: str | None, dims: Dims) -> "RelaxTensor":
        """Return the tensor that a call describes.

        Its shape, such as `R.shape([…])`, is the argument at `place`. The element type is the next argument, or a named
        argument, or `dtype`.
        """
        kind = argument(call, place + 1, "dtype")
        if len(call.args) <= place or (dtype is None and kind is None):
            raise FormatError(f"{line(call)}: must have a shape and a type, got {_cut(call)}")
        return cls(_shape_of(call.args[place], dims), dtype or _type_name(kind or call), line(call))

    @cached_property
    def bits(self) -> int:
        """The number of bits of an element, in whole bytes as in TVM. Raises FormatError for an unknown type."""
        try:
            return 8 * DeclaredBuffer(id="element", dtype=self.dtype, shape=()).bytes
        except ValidationError:
            raise FormatError(
                f"{self.where}: must have a type such as int8, float32 or float32x4, got {excerpt(self.dtype)}"
            ) from None

    def size(self, alignment: int) -> int:
        """Return the tensor's bytes, rounded up to the alignment. Raises FormatError if the size is too large."""
        elements = 1
        for size in self.shape:
            elements = min(elements * size, MAX_BYTES + 1)
        return packed_bytes(self.where, elements, self.bits, alignment)


def argument(call: ast.Call, place: int, name: str) -> ast.expr | None:
    """Return the argument of a call that has this position or name, or None if it is missing."""
    if len(call.args) > place:
        return call.args[place]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def stated_type(call: ast.Call) -> ast.expr | None:
    """Return the result type stated in a call such as `R.call_tir(f, x, out_sinfo=R.Tensor(…))`, or None."""
    named = [keyword.value for keyword in call.keywords if keyword.arg not in ("dtype", "attrs")]
    for part in (*named, *call.args[2:3]):
        rows = part.elts if isinstance(part, ast.List | ast.Tuple) else [part]
        kinds = {dotted_name(row.func) for row in rows if isinstance(row, ast.Call)}
        if kinds and kinds <= {"R.Tensor", "R.Tuple"} and all(isinstance(row, ast.Call) for row in rows):
            if len(rows) == 1:
                return rows[0]
            whole = ast.parse("R.Tuple()", mode="eval").body
            assert isinstance(whole, ast.Call)
            whole.args = rows
            return ast.copy_location(whole, part)
    return None


def function_of(data: bytes) -> ast.FunctionDef:
    """Return the Relax function to read, which is `main` or the only function.

    Raises FormatError if there is none. A call of another Relax function is refused, because the reader does not inline
    calls. A call of a function that FuseOps made is accepted, because it becomes one kernel.
    """
    functions = _relax_functions(module_of(data))
    if not functions and b"T.prim_func" in data:
        raise FormatError(
            "must have a function with @R.function, got only loops (T.prim_func); write operations instead, see "
            "memplan liveness"
        )
    if not functions or (len(functions) > 1 and "main" not in functions):
        raise FormatError(
            "must have a function main, or only one function, with @R.function (keep the function to plan), got "
            f"{excerpt(list(functions))}"
        )
    function = functions.get("main") or next(iter(functions.values()))
    for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
        name = dotted_name(call.func)
        called = functions.get(name.removeprefix("cls.")) if name.startswith("cls.") else None
        if called is not None and not _is_operator(called):
            raise FormatError(
                f"{line(call)}: must not call another Relax function (inline it first), got {excerpt(name)}"
            )
    return function


def _is_operator(function: ast.FunctionDef) -> bool:
    calls = [row.value for row in function.body if isinstance(row, ast.Expr) and isinstance(row.value, ast.Call)]
    marks = [part for call in calls if dotted_name(call.func) == "R.func_attr" for part in call.args]
    keys = [key for part in marks if isinstance(part, ast.Dict) for key in part.keys]
    return any(isinstance(key, ast.Constant) and key.value == "Primitive" for key in keys)


def module_of(data: bytes) -> ast.Module:
    """Return the syntax tree of a TVMScript file. Raises FormatError if it is not valid Python."""
    try:
        with warnings.catch_warnings(action="ignore"):  # Python warns about unusual literals, so ignore warnings.
            return ast.parse(data.decode())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        # Python says "was never closed" of an open bracket, so the file was probably cut off.
        way = CUT_OFF if "was never closed" in str(error) else None
        raise FormatError(f"must be TVMScript: {excerpt(str(error) or type(error).__name__)}", way=way) from None


def _relax_functions(module: ast.Module) -> dict[str, ast.FunctionDef]:
    """Return the Relax functions of a file by name. Raises FormatError if they are in several modules."""
    blocks = [row for row in ast.walk(module) if isinstance(row, ast.ClassDef)]
    blocks = [row for row in blocks if any(map(_is_module, row.decorator_list)) or row in module.body]
    blocks = [row for row in blocks if any(map(_is_relax_function, row.body))]
    if len(blocks) > 1:
        names = [f"{row.name} (line {row.lineno})" for row in blocks]
        raise FormatError(f"must have one module (keep the module to plan), got {excerpt(names)}")
    rows = [*module.body, *(blocks[0].body if blocks else ())]
    if not blocks and not any(map(_is_relax_function, rows)):
        rows = [*filter(_is_relax_function, ast.walk(module))]
    return {row.name: row for row in rows if isinstance(row, ast.FunctionDef) and _is_relax_function(row)}


def _is_relax_function(found: ast.AST) -> bool:
    return isinstance(found, ast.FunctionDef) and any(map(_is_relax, found.decorator_list))


def _is_module(mark: ast.expr) -> bool:
    return dotted_name(mark.func if isinstance(mark, ast.Call) else mark).endswith("ir_module")


def number_of_inputs(function: ast.FunctionDef) -> int | None:
    """Return how many parameters are inputs, if the function's attributes state it; else None."""
    number = attribute_of(function, "num_input")
    return number.value if isinstance(number, ast.Constant) and isinstance(number.value, int) else None


def attribute_of(function: ast.FunctionDef, name: str) -> ast.expr | None:
    """Return the attribute `name` that `R.func_attr({name: …})` or `T.func_attr` sets, or None if it is missing."""
    for statement in function.body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and dotted_name(call.func)[2:] == "func_attr" and call.args:
            rows = call.args[0]
            for key, value in zip(rows.keys, rows.values, strict=True) if isinstance(rows, ast.Dict) else ():
                if isinstance(key, ast.Constant) and key.value == name:
                    return value
    return None


def tensors_of(annotation: ast.expr | None, dims: Dims) -> list[RelaxTensor | None]:
    """Return the tensors of a type: one for R.Tensor, one or None for each entry of R.Tuple, none for other types."""
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
    return [RelaxTensor(_shape_of(annotation.args[0], dims), _type_name(dtype), line(annotation))]


def dotted_name(name: ast.expr) -> str:
    """Return a dotted name, such as R.nn.relu, as text, or "" for any other expression."""
    parts: list[str] = []
    while isinstance(name, ast.Attribute):
        parts.append(name.attr)
        name = name.value
    return ".".join(reversed([*parts, name.id])) if isinstance(name, ast.Name) else ""


def line(found: ast.expr | ast.stmt | ast.arg) -> str:
    """Return "line N" for a syntax node, for error messages."""
    return f"line {found.lineno}"


def _size_operation(found: ast.expr) -> ast.BinOp | None:
    """Return the binary operation in a size (code, or a string of code); None for any other size."""
    if isinstance(found, ast.Constant) and isinstance(found.value, str) and len(found.value) <= _LONGEST_SIZE:
        try:
            inside = ast.parse(found.value.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        found = ast.copy_location(inside, found)
    return found if isinstance(found, ast.BinOp) and type(found.op) in _COMPUTED else None


def _is_relax(mark: ast.expr) -> bool:
    return dotted_name(mark.func if isinstance(mark, ast.Call) else mark) == "R.function"


def _shape_of(found: ast.expr, dims: Dims) -> tuple[int, ...]:
    """Return the sizes in a shape such as `R.shape([…])`, or one size for a number; else raises FormatError."""
    if isinstance(found, ast.Call) and dotted_name(found.func) == "R.shape" and found.args:
        found = found.args[0]
    if isinstance(found, ast.Call | ast.Constant):  # A storage has a single size, which is not a list.
        return (dims.size(found),)
    if not isinstance(found, ast.List | ast.Tuple) or len(found.elts) > _MOST_DIMENSIONS:
        raise FormatError(f"{line(found)}: must be a shape of at most {_MOST_DIMENSIONS} sizes, got {_cut(found)}")
    return tuple(dims.size(entry) for entry in found.elts)


def _type_name(found: ast.expr) -> str:
    """Return the element type in `"float32"` or `R.dtype("float32")`. Raises FormatError for any other expression."""
    if isinstance(found, ast.Call) and len(found.args) == 1:  # A type may be a call such as R.dtype("float32").
        found = found.args[0]
    if isinstance(found, ast.Constant) and isinstance(found.value, str):
        return found.value
    raise FormatError(f'{line(found)}: must be a type such as "float32", got {_cut(found)}')


def _cut(found: ast.expr) -> str:
    if isinstance(found, ast.Constant):
        return excerpt(found.value)
    return excerpt(type(found).__name__)
