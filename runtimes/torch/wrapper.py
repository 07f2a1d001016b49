"""Reader of inductor's wrapper code, `output_code.py`: the storages that its function `call` allocates and reuses.

Each statement is a time step. `empty_strided_*` allocates a storage and `alloc_from_pool` a part of one; external
kernels allocate storages whose shapes `assert_size_stride` states. A new name for an old buffer, on a line with the
comment `# reuse` or `# alloc`, is a new buffer in the bytes of the old one; every other new name is a view of the same
buffer. A buffer is alive from the first statement that passes it to a call, because that call writes it, to the last
statement that names the buffer or a view of it. Returned buffers stay alive. In the wrapper's own plan, each storage is
a pool of its size. The problem has one arena for each device, where a storage is alive from its first buffer to its
last. A reuse whose first kernel only writes the bytes (`out_ptr` in the kernel's source, or `out=` in a call) starts a
new buffer. No code is run. Source: torch 2.0 to 2.13, torch/_inductor/codegen/wrapper.py and memory_planning.py.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memplan.planner.errors import MAX_SHOWN, FormatError, OptionError, excerpt
from memplan.planner.foreign.imported import ImportedProblem, OpenSizesError, plan_of_offsets, refuse_dims, size_of
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.model.finding import Finding
from memplan.planner.model.problem import Problem
from memplan.runtimes.torch.wrapper_storages import WrapperBuffer, WrapperStorages

_PARTITION = "partition_"


def read(data: bytes, options: ModelOptions) -> ImportedProblem:
    """Read a wrapper and its own plan; raises FormatError, and OptionError for dimensions that the wrapper lacks."""
    text = data.decode(errors="backslashreplace")
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise FormatError(f"wrapper: must be Python code: {error}") from error
    functions = {node.name: node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)}
    if "call" not in functions:
        raise FormatError("wrapper: must define the function `call`, as inductor does")
    dims = {name: size for name, size in options.dims.items() if isinstance(size, int)}
    wrapper = WrapperStorages(module, text.splitlines(), dims)
    for when, statement in enumerate(_statements(functions["call"].body, functions)):
        try:
            wrapper.add(statement, when)
        except (ValueError, LookupError) as error:
            raise FormatError(f"line {statement.lineno}: must be as inductor writes it: {error}") from error
    last = functions["call"].body[-1]
    while isinstance(last, ast.With):
        last = last.body[-1]
    if not isinstance(last, ast.Return):
        raise FormatError(f"line {last.lineno}: must be followed by a return statement: is the file cut off?")
    if wrapper.open:
        raise OpenSizesError(
            f"sizes: must be numbers, got none for {', '.join(wrapper.open)}", dict.fromkeys(wrapper.open, 1)
        )
    if not wrapper.dims_named:
        refuse_dims(options, "wrappers of inductor without symbols")
    if others := options.dims.keys() - wrapper.dims_named:
        names = ", ".join(sorted(wrapper.dims_named))
        raise OptionError.from_rule(
            "dims", f"must be a dimension that the wrapper names ({names}), got {excerpt(min(others))}"
        )
    buffers = [row for row in wrapper.buffers if row.steps]
    findings = tuple(_unknown_findings(wrapper))
    if not buffers:
        unknown = "".join(f"; {finding.message}" for finding in findings)
        raise FormatError(
            f"wrapper: must use buffers that it allocates, for example by empty_strided_cpu, got none{unknown}"
        )
    used = {row.storage: wrapper.storages[row.storage] for row in buffers}
    own = _problem_of(
        [_row_of(row.name, row.size, [row], options) | {"pools": (row.storage,)} for row in buffers],
        [{"name": name, "size": storage.size} for name, storage in used.items()],
    )
    devices = dict.fromkeys(storage.device for storage in used.values())
    arenas = [
        _row_of(held[0].name if is_later else name, _span_bytes(held) if is_later else used[name].size, held, options)
        | ({"pools": (used[name].device,)} if len(devices) > 1 else {})
        for name, lives in _uses_of_storages(buffers).items()
        for is_later, held in enumerate(lives)
    ]
    return ImportedProblem(
        _problem_of(arenas, [{"name": name} for name in devices] if len(devices) > 1 else []),
        warnings=findings,
        own_peak=sum(storage.size for storage in used.values()),
        own_problem=own,
        own_plan=plan_of_offsets(own, {row.name: row.offset for row in buffers}),
    )


def _row_of(name: str, size: int, buffers: Sequence[WrapperBuffer], options: ModelOptions) -> dict[str, Any]:
    start, end = min(row.steps[0] for row in buffers), max(row.steps[-1] for row in buffers) + 1
    return {"id": name, "size": size_of(f"buffer {name}", size, options), "start": start, "end": end}


def _uses_of_storages(buffers: Sequence[WrapperBuffer]) -> dict[str, list[list[WrapperBuffer]]]:
    lives: dict[str, list[list[WrapperBuffer]]] = {}
    for row in buffers:
        of_storage = lives.setdefault(row.storage, [])
        if not of_storage or row.is_fresh:
            of_storage.append([])
        of_storage[-1].append(row)
    return lives


def _span_bytes(buffers: Sequence[WrapperBuffer]) -> int:
    return max(row.offset + row.size for row in buffers) - min(row.offset for row in buffers)


def _problem_of(rows: Sequence[dict[str, Any]], pools: Sequence[dict[str, Any]]) -> Problem:
    return Problem.model_validate({"buffers": rows} | ({"pools": pools} if pools else {}))


def _unknown_findings(wrapper: WrapperStorages) -> Iterator[Finding]:
    """Yield findings about values of unknown size, reuses that may read old bytes, and values of unknown type."""
    if wrapper.unseen:
        made = ", ".join(f"{name} (line {made.line}, {made.by})" for name, made in wrapper.unseen.items())
        yield Finding("unknown-storage", f"the sizes of {made} are not known, so these buffers are in no plan")
    if unknown := [row.name for row in wrapper.buffers if row.steps and row.is_fresh is None]:
        listed = ", ".join(unknown[:MAX_SHOWN]) + (", ..." if len(unknown) > MAX_SHOWN else "")
        yield Finding(
            "unknown-reuse",
            f"it is not known whether {listed} reads the bytes that were there before: each reuse counts as one buffer",
        )
    if wrapper.assumed:
        made = ", ".join(f"{name} (line {made.line}, {made.by})" for name, made in wrapper.assumed.items())
        yield Finding(
            "unknown-types", f"the element types of {made} are not known: the widest type of the arguments is assumed"
        )


def _statements(body: Sequence[ast.stmt], functions: Mapping[str, ast.FunctionDef]) -> Iterator[ast.stmt]:
    """Yield the statements of a function, including those inside `with` blocks and called partitions."""
    for statement in body:
        called = _called_partition(statement, functions)
        if isinstance(statement, ast.With):
            yield from _statements(statement.body, functions)
        elif isinstance(statement, ast.If | ast.For | ast.While | ast.Try):
            word = type(statement).__name__.lower()
            raise FormatError(f"line {statement.lineno}: must not branch or loop, got {excerpt(word)}")
        elif called is not None:
            # A partition uses the buffer names of the calling function, so read the partition's statements in place.
            yield from _statements(called.body, functions)
        else:
            yield statement


def _called_partition(statement: ast.stmt, functions: Mapping[str, ast.FunctionDef]) -> ast.FunctionDef | None:
    """Return the partition that a statement calls, as `self.partitions[0](…)` or `partition_0(…)`; else None."""
    value = statement.value if isinstance(statement, ast.Assign | ast.Expr) else None
    match value:
        case ast.Call(
            func=ast.Subscript(value=ast.Attribute(attr="partitions"), slice=ast.Constant(value=int(number)))
        ):
            return functions.get(f"{_PARTITION}{number}")
        case ast.Call(func=ast.Name(id=name)) if name.startswith(_PARTITION):
            return functions.get(name)
    return None
