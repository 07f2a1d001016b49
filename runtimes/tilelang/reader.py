"""Reader of TileLang's kernels for Ascend: TVMScript after the pass AscendMemoryPlanning, parsed but never run.

A kernel's `address_map` and `size_map` give the address and the size in bytes of each buffer of `T.allocate`. A
statement reads or writes a buffer through `T.tvm_access_ptr` or its elements; a bare name counts as both a read and a
write. Source: tile-ai/tilelang-ascend 95acbd7f, src/transform/ascend_memory_planning.cc.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from memplan.planner.errors import FormatError, excerpt
from memplan.planner.foreign.imported import ImportedProblem, refuse_dims, size_of
from memplan.planner.foreign.model_options import ModelOptions
from memplan.programs.readers.draft import OperationsDraft, Uses
from memplan.runtimes.tvm.relax_text import argument, attribute_of, dotted_name, module_of

ALIGNMENT = 32
_READ, _WRITE = 1, 2
_NO_USES = {"T.Buffer", "T.decl_buffer", "T.func_attr"}


def read(data: bytes, options: ModelOptions) -> ImportedProblem:
    """Read the kernel that has addresses. Raises FormatError unless it is the only one, OptionError for dimensions."""
    refuse_dims(options, "kernels of TileLang")
    functions = [row for row in ast.walk(module_of(data)) if isinstance(row, ast.FunctionDef)]
    kernels = [row for row in functions if attribute_of(row, "address_map")]
    if len(kernels) != 1:
        raise FormatError(
            f"must contain exactly one kernel with an address_map (remove the others), got {len(kernels)}"
        )
    kernel = _Kernel(kernels[0], options)
    kernel.block(kernels[0].body)
    return kernel.draft.make_program(own_peak=kernel.tops.total(), own_offsets=kernel.places)


def _integers_by_buffer(kernel: ast.FunctionDef, name: str) -> dict[str, int]:
    """Return a kernel's attribute that maps buffers to integers. Raises FormatError if it is missing or malformed."""
    rows = attribute_of(kernel, name)
    pairs = zip(rows.keys, rows.values, strict=True) if isinstance(rows, ast.Dict) else ()
    values = {dotted_name(key): row.value for key, row in pairs if key and isinstance(row, ast.Constant)}
    numbers = {key: value for key, value in values.items() if isinstance(value, int)}
    if not numbers or len(numbers) < len(values):
        raise FormatError(f"{name}: must map each buffer to an integer, such as {{a: 0, b: 64}}")
    return numbers


class _Kernel:
    """A converter of a kernel's buffers and statements to a program of operations."""

    def __init__(self, kernel: ast.FunctionDef, options: ModelOptions) -> None:
        """Declare the kernel's buffers that have addresses. Raises FormatError for a buffer without memory or size."""
        self.draft, self.uses = OperationsDraft(None, (), options, options.alignment or ALIGNMENT), Uses()
        addresses, sizes = _integers_by_buffer(kernel, "address_map"), _integers_by_buffer(kernel, "size_map")
        self.places, self.tops = dict[str, int](), Counter[str]()
        self.data: dict[str, str] = {}
        for name, call in _bound_calls(kernel):
            if dotted_name(call.func) == "T.allocate" and name in addresses:
                memory = argument(call, 2, "scope")
                if name not in sizes or not isinstance(memory, ast.Constant):
                    raise FormatError(f"buffer {excerpt(name)}: must have a memory and a size in size_map")
                size = size_of(f"buffer {excerpt(name)}", sizes[name], options)
                self.places[name], self.data[name] = addresses[name], name
                self.draft.declare(name, size, pool=str(memory.value))
                self.tops[str(memory.value)] = max(self.tops[str(memory.value)], addresses[name] + size)
            else:
                self.data[name] = "".join(dotted_name(each.value) for each in call.keywords if each.arg == "data")
        self.written = {name for name, kind in self._accesses(kernel) if kind & _WRITE}

    def block(self, statements: Sequence[ast.stmt]) -> None:
        """Convert statements to operations, and loops and branches to blocks."""
        for row in statements:
            if isinstance(row, ast.With):
                self.block(row.body)
            elif isinstance(row, ast.For | ast.While | ast.If):
                self._add_operation(row.iter if isinstance(row, ast.For) else row.test)
                bodies = []
                for body in (row.body, row.orelse):
                    self.draft.begin_block()
                    self.block(body)
                    bodies.append(self.draft.end_block())
                if isinstance(row, ast.If):
                    self.draft.branches((), bodies)
                else:
                    self.draft.loop(bodies[0], None)
            else:
                self._add_operation(row)

    def _add_operation(self, row: ast.AST) -> None:
        rows = [*self._accesses(row)]
        self.uses.add(len(rows))
        reads, writes = (dict.fromkeys(name for name, kind in rows if kind & way) for way in (_READ, _WRITE))
        inputs, scratch = ([name for name in reads if (name in self.written) == held] for held in (True, False))
        call = row.value if isinstance(row, ast.Expr) else None
        if rows:
            op = dotted_name(call.func) if isinstance(call, ast.Call) else ""
            self.draft.operation(op or "store", inputs, writes, scratch)

    def _accesses(self, row: ast.AST) -> Iterator[tuple[str, int]]:
        """Yield (buffer, kind of use) for each buffer in a statement, where the kind is read, write, or both."""
        inside = set[int]()
        for node in ast.walk(row):
            if id(node) in inside:
                continue
            if isinstance(node, ast.Call) and dotted_name(node.func) in _NO_USES:
                inside |= {id(each) for each in ast.walk(node)}
            elif isinstance(node, ast.Call) and dotted_name(node.func) == "T.tvm_access_ptr" and len(node.args) == 5:
                inside.add(id(node.args[1]))
                if (name := self.data.get(dotted_name(node.args[1]))) in self.places:
                    kind = getattr(node.args[4], "value", None)
                    yield name, kind if isinstance(kind, int) else _READ | _WRITE
            elif isinstance(node, ast.Subscript) and (name := self.data.get(dotted_name(node.value))) in self.places:
                inside.add(id(node.value))
                yield name, _WRITE if isinstance(node.ctx, ast.Store) else _READ
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in self.places:
                yield node.id, _READ | _WRITE


def _bound_calls(kernel: ast.FunctionDef) -> Iterator[tuple[str, ast.Call]]:
    for row in ast.walk(kernel):
        pair = (row.optional_vars, row.context_expr) if isinstance(row, ast.withitem) else (None, None)
        target, call = (row.targets[0], row.value) if isinstance(row, ast.Assign) else pair
        if isinstance(target, ast.Name) and isinstance(call, ast.Call):
            yield target.id, call
