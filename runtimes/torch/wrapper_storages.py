"""The storages in inductor's wrapper code, collected statement by statement."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from memplan.planner.errors import FormatError, excerpt
from memplan.planner.foreign.imported import element_count
from memplan.programs.operations.graph_facts import bits_of
from memplan.runtimes.torch.sizes import evaluate

_REUSED = "# reuse"
_NEW_BUFFER = (_REUSED, "# alloc")
_SIGNATURE = re.compile(r"\b(?:void|def)\s+\w+\(([^()]*)\)")
_OUT = "out_ptr"
"""The prefix of kernel parameters that are only written; parameters that are also read are `in_out_ptr`."""
_STRIDED, _EMPTY, _EXAMPLE, _FROM_POOL = "empty_strided", "empty", "rand_strided", "alloc_from_pool"
_VIEWS = ("reinterpret_tensor", "as_strided")
_ASSERTIONS = ("assert_size_stride", "assert_alignment")
_PREFIX = "buf"
"""The prefix of buffer names; results with other names are numbers, streams or arguments."""


@dataclass
class WrapperBuffer:
    """A buffer: its storage, its offset and size there, the bytes of one element, and the steps that use it.

    `is_fresh` is True if the buffer reuses bytes whose old values are never read, and None if that is unknown.
    """

    name: str
    storage: str
    offset: int
    size: int
    element: int
    steps: list[int] = field(default_factory=list)
    is_fresh: bool | None = False


@dataclass(frozen=True)
class WrapperStorage:
    """A storage: its size in bytes and the kind of its device."""

    size: int
    device: str


@dataclass(frozen=True)
class MadeElsewhere:
    """A value that an external kernel computes: the call's step and line, the kernel, its arguments' element sizes."""

    when: int
    line: int
    by: str
    given: frozenset[int]


@dataclass(frozen=True)
class _Allocation:
    """A call that allocates a tensor or an example argument; a tensor without strides is contiguous."""

    shape: ast.expr
    strides: ast.expr | None
    element: int
    device: str

    @classmethod
    def from_expression(cls, value: ast.expr) -> "_Allocation | None":
        """Return the allocation that a call makes; None for other expressions. Raises FormatError for unknown types."""
        function = _called_name(value)
        if not isinstance(value, ast.Call) or not (function in (_EMPTY, _EXAMPLE) or function.startswith(_STRIDED)):
            return None
        said = {word.arg: word.value for word in value.keywords}
        shape, *rest = value.args
        strides = None if function == _EMPTY else rest.pop(0)
        element = _element_bytes(said["dtype"] if "dtype" in said else rest[0])
        device = _device_kind(said["device"]) if "device" in said else function.removeprefix(_STRIDED).lstrip("_")
        return cls(shape, strides, element, device or "default")


class WrapperStorages:
    """The storages and buffers after the statements added so far, and the buffer of each name.

    `unseen` are values of external kernels that are passed on and whose bytes are unknown; `assumed` are those with a
    known shape and an unknown type. `dims_named` are the symbols that occur in sizes, `open` the symbols without a
    given size.
    """

    def __init__(self, module: ast.Module, lines: Sequence[str], dims: Mapping[str, int]) -> None:
        """Record the kernels and types that the wrapper `module` states, and start without storages or buffers."""
        self.lines, self.dims = lines, dims
        self.examples: dict[str, int] = {}
        """The bytes per element of each argument, from the example inputs in the wrapper's benchmark."""
        self.device, self.element = "default", 4
        self.parameters: dict[str, list[str]] = {}
        """The parameter names of each kernel with source code; the names show which parameters are only written."""
        self._find_types_and_kernels(module)
        self.storages: dict[str, WrapperStorage] = {}
        self.buffers: list[WrapperBuffer] = []
        self.names: dict[str, WrapperBuffer] = {}
        self.elsewhere: dict[str, MadeElsewhere] = {}
        self.unseen: dict[str, MadeElsewhere] = {}
        self.assumed: dict[str, MadeElsewhere] = {}
        self.dims_named: set[str] = set()
        self.open: list[str] = []

    def add(self, statement: ast.stmt, when: int) -> None:
        """Add a statement of the function `call` as time step `when`."""
        if isinstance(statement, ast.Delete):
            return
        if isinstance(statement, ast.Expr) and _called_name(statement.value) in _ASSERTIONS:
            self._add_asserted_storage(statement.value)
            return
        passed: list[ast.AST] = [statement]
        if isinstance(statement, ast.Assign):
            target = statement.targets[0]
            if isinstance(target, ast.Name) and self._bind_buffer(target.id, statement):
                return
            passed = [statement.value]
        for node in (each for part in passed for each in ast.walk(part)):
            if isinstance(node, ast.Name) and node.id in self.names:
                buffer = self.names[node.id]
                if buffer.is_fresh is None and not buffer.steps:
                    buffer.is_fresh = self._is_only_written(node.id, statement)
                buffer.steps.append(when)
            elif isinstance(node, ast.Name) and node.id in self.elsewhere:
                self.unseen.setdefault(node.id, self.elsewhere[node.id])
        if isinstance(statement, ast.Assign):
            self._bind_results(statement, when)

    def _find_types_and_kernels(self, module: ast.Module) -> None:
        """Record kernel parameters and argument types; a tensor of unknown type gets the first known type."""
        found: list[_Allocation] = []
        for statement in ast.walk(module):
            if isinstance(statement, ast.Assign) and (kernel := _kernel_parameters(statement.value)):
                self.parameters |= dict.fromkeys(_variable_names(*statement.targets), kernel)
            # The function `read` raises these errors later with the number of the line, so suppress them here.
            with suppress(ValueError, LookupError):
                if (
                    isinstance(statement, ast.Assign)
                    and (allocation := _Allocation.from_expression(statement.value)) is not None
                ):
                    found.append(allocation)
                    self.examples |= dict.fromkeys(_variable_names(*statement.targets), allocation.element)
        if found:
            self.device, self.element = found[0].device, found[0].element

    def _bind_results(self, statement: ast.Assign, when: int) -> None:
        given = {self.names[name].element for name in _variable_names(statement.value) if name in self.names}
        given |= {self.examples[name] for name in _variable_names(statement.value) if name in self.examples}
        for name in _variable_names(*statement.targets):
            self.names.pop(name, None)
            self.elsewhere.pop(name, None)
            if isinstance(statement.value, ast.Call) and name.startswith(_PREFIX):
                by = ast.unparse(statement.value.func)
                self.elsewhere[name] = MadeElsewhere(when, statement.lineno, by, frozenset(given))

    def _add_asserted_storage(self, value: ast.expr) -> None:
        """Add the storage of an external kernel's result, with the shape that an assertion states."""
        if (
            not isinstance(value, ast.Call)
            or _called_name(value) != _ASSERTIONS[0]
            or not isinstance(value.args[0], ast.Name)
        ):
            return
        name = value.args[0].id
        if (made := self.elsewhere.pop(name, None)) is None:
            return
        shape, strides = value.args[1:3]
        if not made.by.startswith("extern_kernels.") or len(made.given) != 1:
            self.assumed[name] = made
        element = max(made.given, default=self.element)
        self._allocate(name, self._element_span(shape, strides), element, self.device)
        self.names[name].steps.append(made.when)

    def _bind_buffer(self, name: str, statement: ast.Assign) -> bool:
        """Bind a name to the buffer that a statement allocates or views; return False if the statement does neither."""
        value, function = statement.value, _called_name(statement.value)
        if (found := _Allocation.from_expression(value)) is not None:
            self._allocate(name, self._element_span(found.shape, found.strides), found.element, found.device)
            return True
        if isinstance(value, ast.Call) and function == _FROM_POOL:
            pool, offset, dtype, shape, strides = value.args[:5]
            element = _element_bytes(dtype)
            storage = self.names[ast.unparse(pool)].storage
            self._add_buffer(
                name, storage, self._integer_value(offset), self._element_span(shape, strides) * element, element
            )
            return True
        source = value.args[0] if isinstance(value, ast.Call) and function in _VIEWS else value
        source = source.value if isinstance(source, ast.Subscript) else source
        if not isinstance(source, ast.Name):
            return False
        if (made := self.elsewhere.get(source.id)) is not None:
            self.elsewhere[name] = made
            self.names.pop(name, None)
            return True
        if (base := self.names.get(source.id)) is None:
            return False
        line = self.lines[(statement.end_lineno or 1) - 1]
        if not any(mark in line for mark in _NEW_BUFFER):
            self.names[name] = base
            return True
        if isinstance(value, ast.Call):
            shape, strides, *offsets = value.args[1:4]
            at = base.offset + sum(map(self._integer_value, offsets)) * base.element
            self._add_buffer(name, base.storage, at, self._element_span(shape, strides) * base.element, base.element)
        else:
            self._add_buffer(name, base.storage, base.offset, base.size, base.element)
        if _REUSED in line:
            self.names[name].is_fresh = None
        return True

    def _is_only_written(self, name: str, statement: ast.stmt) -> bool | None:
        """Return True if a statement writes a buffer without reading it; None if the kernel's source is missing."""
        call = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
        if not isinstance(call, ast.Call) or [*_variable_names(call)].count(name) > 1:
            return False
        if any(
            word.arg == "out" and isinstance(word.value, ast.Name) and word.value.id == name for word in call.keywords
        ):
            return True
        parameters = self.parameters.get(ast.unparse(call.func).removesuffix(".run"))
        if parameters is None:
            return None
        pairs = zip(call.args, parameters, strict=False)
        return any(isinstance(each, ast.Name) and each.id == name and said.startswith(_OUT) for each, said in pairs)

    def _allocate(self, name: str, elements: int, element: int, device: str) -> None:
        self.storages[name] = WrapperStorage(elements * element, device)
        self._add_buffer(name, name, 0, elements * element, element)

    def _add_buffer(self, name: str, storage: str, offset: int, size: int, element: int) -> None:
        self.names[name] = WrapperBuffer(name, storage, offset, size, element)
        self.buffers.append(self.names[name])

    def _integer_value(self, value: ast.expr) -> int:
        names = [name for name in _variable_names(value) if name.isidentifier()]
        self.dims_named.update(names)
        if missing := [name for name in names if name not in self.dims]:
            self.open += [name for name in missing if name not in self.open]
            return 0
        if (found := evaluate(value, self.dims)) is None or found < 0:
            raise FormatError(f"sizes: must be integers, got {excerpt(ast.unparse(value))}; compile with dynamic=False")
        return found

    def _element_span(self, shape: ast.expr, strides: ast.expr | None) -> int:
        """Return the number of elements from a tensor's first to its last; strides of None mean contiguous."""
        sizes = [self._integer_value(each) for each in getattr(shape, "elts", (shape,))]
        if 0 in sizes:
            return 0
        if strides is None:
            return element_count(sizes)
        steps = [self._integer_value(each) for each in getattr(strides, "elts", (strides,))]
        return 1 + sum((size - 1) * step for size, step in zip(sizes, steps, strict=True))


def _kernel_parameters(value: ast.expr) -> list[str]:
    """Return the parameter names of the kernel that a call compiles, read from its source; else an empty list.

    A parameter that an atomic operation changes is also read, so its name gets the prefix "atomic".
    """
    if not isinstance(value, ast.Call) or not ast.unparse(value.func).startswith("async_compile."):
        return []
    texts = [each.value for each in ast.walk(value) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    source = max(texts, key=len, default="")
    for match in _SIGNATURE.finditer(source):
        names = [found[0] for part in match[1].split(",") if (found := re.findall(r"\w+", part.partition(":")[0])[-1:])]
        if any("_ptr" in name for name in names):
            return [f"atomic {name}" if re.search(rf"atomic_add\(&?{name}\b", source) else name for name in names]
    return []


def _variable_names(*values: ast.expr) -> Iterator[str]:
    functions = {id(node.func) for value in values for node in ast.walk(value) if isinstance(node, ast.Call)}
    nodes = (node for value in values for node in ast.walk(value))
    return (node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in functions)


def _called_name(value: ast.expr) -> str:
    return ast.unparse(value.func).rpartition(".")[2] if isinstance(value, ast.Call) else ""


def _device_kind(value: ast.expr) -> str:
    texts = [each.value for each in ast.walk(value) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return texts[0].partition(":")[0] if texts else ""


def _element_bytes(dtype: ast.expr) -> int:
    """Return the bytes of an element of a torch type, rounded up. Raises FormatError for an unknown type."""
    name = ast.unparse(dtype).rpartition(".")[2]
    if (bits := bits_of(name)) is None:
        raise FormatError(f"types: must have a known size, got {excerpt(name)}")
    return -(-bits // 8)
